"""A claim of one's own: through certificate, text, JSON, files and audit, and against exact probabilities."""

import json
import tempfile
from pathlib import Path

import numpy as np

from pacopt.certificate import Certificate
from pacopt.certifying import certify
from pacopt.claims import AbstractClaim, claim_from_dict, shared_out, standard_claims
from pacopt.claims.foreign import ForeignClaim
from pacopt.design import Design
from pacopt.loss_table import LossTable
from pacopt.statement import subject_of
from pacopt.testing.bounds import Truth, check_bound
from pacopt.testing.checking import need, told


def check_claim(claim: AbstractClaim, truth: Truth | None = None, *, posterior: bool = True) -> None:
    """Raise unless a claim works in a certificate like pacopt's own, and its bound holds.

    With `truth`, the quantity that it is about is compared with its bound on small laws (`check_bound`).
    """
    name = type(claim).__name__
    rng = np.random.default_rng(0)
    table = LossTable(rng.beta(0.5, 5, (6, 400)), np.ones(400))
    with told(f"a design with {name}"):
        ours = [each for each in standard_claims() if each.name != claim.name]
        design = Design.uniform(table, claims=shared_out([*ours, claim]))
    with told(f"certifying {name}"):
        certificate = certify(table, design)
        smaller = certify(table, design, confidence=0.999)
    number, strict = (each.deployed.values[claim.name] for each in (certificate, smaller))
    if number is not None and strict is not None and certificate.deployed.index == smaller.deployed.index:
        better = strict > number if claim.at_least else strict < number
        need(not better, f"{name} promises more at a larger confidence: {strict} after {number}")
    with told(f"{name}.sentence"):
        for value in (number, None):
            sentence = claim.sentence(value, subject_of(certificate))
            need(isinstance(sentence, str) and sentence.strip(), f"{name}.sentence({value}) is {sentence!r}")
    need(certificate.sentences[claim.name] in str(certificate), f"{name} is not in the text of the certificate")
    stored = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    again = claim_from_dict(next(each for each in stored["design"]["claims"] if each["name"] == claim.name))
    need(
        isinstance(again, ForeignClaim) or again.to_dict() == design[claim.name].to_dict(),
        f"{name} is another claim when it is read from its JSON value",
    )
    with tempfile.TemporaryDirectory() as place, told(f"saving and loading {name}"):
        path = certificate.save(Path(place) / "run")
        need(str(Certificate.load(path)) == str(certificate), f"{name} has other words after loading")
    if truth is not None:
        check_bound(claim.bound(design), truth, at_least=claim.at_least, posterior=posterior)
