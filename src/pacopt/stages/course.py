"""The progress of `learn`: its stages as they begin and end, and how many of all runs are finished."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pacopt.engines.work import Progress
from pacopt.measure import DiscreteMeasure
from pacopt.priors.trials import Trials
from pacopt.support.progress import WHOLE, StageProgress, silent


class Course:
    """Reports progress."""

    def __init__(self, tell: StageProgress = silent) -> None:
        self._tell = self.tell = tell
        self._finished: dict[str, int] = {}
        self._expected: dict[str, int] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Something without runs."""
        self._tell(name, 0, 1)
        yield
        self._tell(name, 1, 1)

    def expect(self, **runs: int) -> None:
        """Announce how many runs these stages will have, as far as known."""
        self._expected |= runs

    def table(self, stage: str) -> Progress:
        """The progress function for one table of a stage."""
        before = self._finished.get(stage, 0)

        def told(done: int, total: int) -> None:
            self._finished[stage] = before + done
            self.expect(**{stage: max(self._expected.get(stage, 0), before + total)})
            self._tell(stage, before + done, self._expected[stage])
            self._tell_whole()

        return told

    def over(self, stage: str) -> None:
        """Count all runs of a stage as finished, even if they were fewer than expected."""
        self.expect(**{stage: self._finished.get(stage, 0)})
        self._tell_whole()

    def _tell_whole(self) -> None:
        if "train" in self._expected:  # otherwise the total is unknown
            self._tell(WHOLE, sum(self._finished.values()), sum(self._expected.values()))


def expected_runs(prior: Any, trials: Trials, per_prior: int, per_train: int) -> dict[str, int]:
    """The most runs a prior needs, and the runs of its candidates; empty for an unknown prior."""
    if isinstance(prior, DiscreteMeasure):
        return {"prior": 0, "train": len(prior) * per_train}
    if isinstance(prior, type) or not hasattr(prior, "most"):
        return {}
    tried, candidates = prior.most(trials)
    return {"prior": tried * per_prior, "train": candidates * per_train}
