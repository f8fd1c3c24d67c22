"""The trade-off between how surely an algorithm succeeds and how fast it is, all levels certified at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pacopt.certificate import Certificate, candidate_bounds
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.statement import down, up

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


class Certified(Protocol):
    """A certificate and the table that it was made of."""

    @property
    def certificate(self) -> Certificate:
        """The certificate."""
        ...

    @property
    def table(self) -> LossTable:
        """The training table."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate with the smallest certified risk among those certified to succeed with probability `level`.

    `quantile` is None where there is no finite bound.
    """

    level: float
    index: int
    hyper: dict[str, float]
    risk: float
    success: float
    quantile: float | None


@dataclass(frozen=True, slots=True)
class Frontier:
    """One choice for each level of success that can be certified; all of them hold together, whichever is picked."""

    confidence: float
    choices: tuple[Choice, ...]
    unattained: tuple[float, ...]

    def __str__(self) -> str:
        lines = [
            f"With confidence {self.confidence!r}, all lines at once:",
            f"{'level':>7}{'success at least':>18}{'ratio at most':>15}  hyperparameters",
        ]
        # Several levels may lead to the same choice: the highest of them says it all.
        for choice in {choice.index: choice for choice in self.choices}.values():
            hyper = ", ".join(f"{name} = {value:.4g}" for name, value in choice.hyper.items())
            lines.append(f"{choice.level:>7g}{down(choice.success):>18}{up(choice.risk):>15}  {hyper}")
        lines += [f"{level:>7g}  no candidate can be certified at this level" for level in self.unattained]
        return "\n".join(lines)


def frontier(learned: Certified, levels: Sequence[float] = LEVELS) -> Frontier:
    """For each level, the best certified speed among the candidates that are certified to succeed at that level.

    The bounds behind a certificate hold for every candidate on one event. So all lines of the frontier hold together
    with the confidence of the certificate, whatever the levels are, and a line may be picked after looking; the
    hyperparameters of that line are then to be deployed.
    """
    try:
        wanted = sorted({float(level) for level in levels})
    except (TypeError, ValueError):
        wanted = []
    if not wanted or not (wanted[0] >= 0 and wanted[-1] <= 1):
        raise DesignError(f"The levels are {levels!r}.", "Levels are probabilities.", "", "Use (0.5, 0.9, 0.99).")
    certificate, table = learned.certificate, learned.table
    design = certificate.design
    bounds = candidate_bounds(table, design, confidence=certificate.confidence)
    held = design.prior.log_weights > -np.inf
    choices, unattained = [], []
    for level in wanted:
        able = held & (bounds.success >= level)
        if not able.any():
            unattained.append(level)
            continue
        index = int(np.argmin(np.where(able, bounds.risk, np.inf)))
        quantile = float(bounds.quantile[index])
        choices.append(
            Choice(
                level=level,
                index=index,
                hyper=table.hyper(index),
                risk=float(bounds.risk[index]),
                success=float(bounds.success[index]),
                quantile=quantile if np.isfinite(quantile) else None,
            )
        )
    return Frontier(certificate.confidence, tuple(choices), tuple(unattained))
