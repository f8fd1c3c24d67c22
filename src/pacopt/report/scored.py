"""The scores of one candidate on the training instances, and the words for them."""

from dataclasses import dataclass

import numpy as np

from pacopt.certificate import Certificate
from pacopt.loss_table import LossTable
from pacopt.report.endings import ending_of, means_of
from pacopt.report.words import chosen, training
from pacopt.scores import Ratio


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of one candidate in their unit, which of them stand for something else, and the words for all.

    `lost` runs did not end as they should. Where an instance has several `runs`, values are means: none stands for
    something else.
    """

    values: np.ndarray
    beyond: np.ndarray
    lost: int
    runs: int | None
    title: str
    axis: str
    unit: str
    noun: str
    caption: str
    what: str
    counted: str

    @staticmethod
    def of(c: Certificate, table: LossTable) -> "Scores":
        """Those of the candidate that is certified."""
        score, i = c.design.score, c.deployed.index
        values, losses = score.scale * score.of(table, slice(i, i + 1))[0], table.losses[i]
        unit, relative = f" {score.unit}" if score.unit else "", isinstance(score, Ratio)
        if relative:
            lost = ~(losses <= table.starts)  # a loss that is no number has not ended below
        else:
            lost = ~np.isfinite(losses) | (losses > score.scale if not score.relative else False)
        several = table.columns is not None
        means = means_of(table, "groups" if c.grouped else "instances")
        counts = {
            "values": values,
            "beyond": np.zeros(len(values), dtype=bool) if several else lost,
            "lost": int(lost.sum()),
            "runs": len(losses) if several else None,
            "unit": unit,
            "noun": training(c, 2).removeprefix("2 "),
        }
        if relative:
            return Scores(
                **counts,
                title="Final losses",
                axis="final loss relative to the start",
                caption=f"Final loss relative to the start of the {chosen(c)} hyperparameters on the {training(c)}, "
                f"with the safeguard{means}.",
                what="start returned",
                counted="ended above their start or failed: there the start is returned"
                + ("" if several else ", and the ratio is 1"),
            )
        noun, top, ending = score.noun[0].upper() + score.noun[1:], f"{score.scale:g}", ending_of(score, relative=False)
        fails = f"failed or ended above {top}{unit}" if not score.relative else "failed"
        fails = fails if ending.fails == "failed" else ending.fails
        return Scores(
            **counts,
            title=noun,
            axis=score.noun if not score.unit or score.unit in score.noun else f"{score.noun} ({score.unit})",
            caption=f"{noun} of the {chosen(c)} candidate on the {training(c)}{means}.",
            what=fails.replace("ended ", ""),
            counted=f"{'were ' * fails.startswith('not ')}{fails}, and count as {top}",
        )

    @property
    def told(self) -> str:
        """How many runs did not end as they should, and what they did, as a sentence; empty if all did."""
        if not self.lost:
            return ""
        which = f"{self.lost}" if self.runs is None else f"{self.lost} of all {self.runs} runs"
        return f" {which} {self.counted if self.lost > 1 else _of_one(self.counted)}."

    @property
    def row(self) -> tuple[str, str]:
        """The same in a table."""
        return self.what if self.runs is None else f"{self.what} (of {self.runs} runs)", f"{self.lost}"


def _of_one(words: str) -> str:
    """What is said of several, said of one.

    >>> _of_one("were not solved within 300 iterations, and count as 300")
    'was not solved within 300 iterations, and counts as 300'
    """
    for many, one in (("their start", "its start"), ("were ", "was "), ("count as", "counts as")):
        words = words.replace(many, one)
    return words
