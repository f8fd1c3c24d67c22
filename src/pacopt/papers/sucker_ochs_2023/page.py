"""One page with all figures, tables and verdicts that needs nothing but itself, and the same as JSON."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pacopt._version import __version__
from pacopt.papers.sucker_ochs_2023.reference import label
from pacopt.papers.sucker_ochs_2023.reproduction import Reproduced
from pacopt.papers.sucker_ochs_2023.verdicts import PACOPT, PAPER, tallies
from pacopt.support.whole import whole

TITLE = "PAC-Bayesian Learning of Optimization Algorithms"
AUTHORS = "Michael Sucker and Peter Ochs, AISTATS 2023"
PAGE, DOCUMENT = "index.html", "reproduction.json"
SOURCES = {PAPER: "claims of the paper", PACOPT: "certificates of pacopt"}
#: The heading of each figure, and what it shows.
CAPTIONS = {
    "fig1": (
        "1. Where the posterior of the step size goes",
        "Posterior densities of gradient descent's step size after learning for 5 to 135 steps, with three statistics: "
        "that of the authors' code, that of Theorem 6.2 as printed, and the sharpest that its proof allows.",
    ),
    "fig2": (
        "2. Conditioning on convergence",
        "First: loss on test instances over the steps, for the textbook's heavy-ball and for one learned for each of "
        "four success probabilities. Second, beyond the paper: what can be certified, for two families of problems.",
    ),
    "fig3": (
        "3. Convergence probability",
        "First: how often what was learned succeeds on 25 test sets, against the success probability asked for. "
        "Second: the share of candidates that truly succeed less often than that, though a filter let them through.",
    ),
    "fig4": (
        "4. Tightness",
        "First: final losses on the test instances, with the published estimate and the certified mean. "
        "Second: how far estimate and certificates lie above the truth, by the number of training instances.",
    ),
}


def document(results: Sequence[Reproduced], seed: int) -> dict[str, Any]:
    """What was reproduced, as a JSON value."""
    return {
        "paper": TITLE,
        "pacopt": __version__,
        "seed": seed,
        "tally": {source: {"hold": count.hold, "claims": count.claims} for source, count in _tally(results).items()},
        "figures": [result.to_dict() for result in results],
    }


def tally_line(results: Sequence[Reproduced]) -> str:
    """How many claims hold, in a sentence."""
    counts = "; ".join(f"{SOURCES[source]}: {count}" for source, count in _tally(results).items())
    return f"{counts[0].upper()}{counts[1:]}."


def write_page(out: Path, results: Sequence[Reproduced], seed: int) -> Path:
    """Write the page and its JSON into the folder of the figures, over older ones; whole or not at all."""
    with whole(out / PAGE) as file:
        file.write(page_html(results, seed).encode())
    with whole(out / DOCUMENT) as file:
        file.write((json.dumps(document(results, seed), indent=1, allow_nan=False) + "\n").encode())
    return out / PAGE


def page_html(results: Sequence[Reproduced], seed: int) -> str:
    """The page as text."""
    variants = dict.fromkeys(result.followed for result in results)
    text: str = _template().render(
        title=TITLE,
        authors=AUTHORS,
        version=__version__,
        seed=seed,
        variants=" and ".join(variants),
        tally=_tally(results),
        sources=SOURCES,
        parts=[_part(result, several=len(variants) > 1) for result in results],
        document=DOCUMENT,
    )
    return text


def _tally(results: Sequence[Reproduced]) -> dict[str, Any]:
    return tallies(verdict for result in results for verdict in result.verdicts)


def _part(result: Reproduced, *, several: bool) -> dict[str, Any]:
    from markupsafe import Markup

    heading, caption = CAPTIONS[result.figure]
    wide, narrow = result.drawings
    return {
        "name": f"{result.figure}-{result.variant}",
        "heading": f"{heading}, {result.followed}" if several else heading,
        "caption": caption,
        "wide": Markup(wide),
        "narrow": Markup(narrow),
        "files": [path.name for path in result.files],
        "seconds": f"{result.seconds:.0f}",
        "tally": tallies(result.verdicts),
        "verdicts": result.verdicts,
        "comparison": result.comparison,
        "numbers": {label(name): value for name, value in result.numbers.items()},
    }


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8"))
