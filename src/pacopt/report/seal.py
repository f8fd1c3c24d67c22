"""The seal of a report: a hash of the page in its last line, so that an edit shows."""

import hashlib
import html
from pathlib import Path

from pacopt.certificate import Certificate
from pacopt.statement import known_texts

#: The name of the report in the directory of its run.
REPORT = "report.html"
SEAL = "<!-- pacopt seal: blake2b {} of everything above this line -->\n"


def sealed(page: str) -> str:
    """The page with its seal as the last line."""
    body = page if page.endswith("\n") else f"{page}\n"
    return body + SEAL.format(_hash(body.encode()))


def certificate_meta(certificate: Certificate) -> str:
    """The element by which a page says whose report it is."""
    return f'<meta name="pacopt-certificate" content="{certificate.to_dict()["hash"]}">'


def statement_element(certificate: Certificate) -> str:
    """The statement of the certificate word for word, as an element of a page."""
    return _statement(str(certificate))


def report_problem(path: Path, certificate: Certificate) -> str | None:
    """What is wrong with a report for this certificate, or None.

    The seal shows an accident or a careless edit; like the hashes of a run it is not signed.
    """
    content = path.read_bytes()
    start = content.rfind(b"\n", 0, -1) + 1
    if content[start:] != SEAL.format(_hash(content[:start])).encode():
        return f"{path.name} was altered after it was drawn (its seal is broken); `pacopt report` draws it again"
    if certificate_meta(certificate).encode() not in content:
        return f"{path.name} shows another certificate; `pacopt report` draws it again"
    if not any(_statement(text).encode() in content for text in known_texts(certificate)):
        return f"{path.name} does not say what certificate.json says; `pacopt report` draws it again"
    return None


def _statement(text: str) -> str:
    return f'<pre id="statement">{html.escape(text)}</pre>'


def _hash(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()
