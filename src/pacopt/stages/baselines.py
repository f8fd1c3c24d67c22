"""Baselines, what a gain is over: hyperparameters or algorithms fixed beforehand, run on every training instance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines.base import AbstractEngine, Standard
from pacopt.engines.description import described
from pacopt.engines.ended import failures_of
from pacopt.engines.work import Tiles
from pacopt.errors import DesignError
from pacopt.instances import Instances
from pacopt.scores import AbstractScore
from pacopt.sources import Sources
from pacopt.splits import Split
from pacopt.support.cells import UNKNOWN_START
from pacopt.support.values import exact, named, same_hyper

#: The default: the algorithm's textbook settings, if there are any.
TEXTBOOK = "textbook"
#: Start losses of one instance may differ by this fraction, since two programs round differently.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Baseline:
    """Hyperparameters to compare with, of the learned algorithm or of another one.

    Without `hyper` they are the textbook settings for the curvature of the prior split. `hyper` may also be an
    earlier result, learned on other instances. Another `algorithm` may have its own number of `steps`; one without
    hyperparameters needs none. An `engine` is any solver at all, such as a `BlackBox`, with its defaults unless `hyper`
    is given: its losses are those of the learned problem, less its minimum if that is known, and it tells the loss at
    the start too, which shows that they are.

    >>> from pacopt import LBFGS, Nesterov
    >>> textbook, other = Baseline(), Baseline(algorithm=Nesterov(), steps=25)
    >>> usual = Baseline(algorithm=LBFGS())
    """

    hyper: Any = None
    algorithm: AbstractAlgorithm | None = None
    steps: int | None = None
    engine: AbstractEngine | None = None


class Opponent(NamedTuple):
    """A baseline ready to run: its name, engine and hyperparameters, and whether the engine is its own."""

    name: str
    engine: AbstractEngine
    hyper: Mapping[str, Any]
    foreign: bool = False

    def __str__(self) -> str:
        kind = getattr(self.engine, "title", "") or type(getattr(self.engine, "algorithm", self.engine)).__name__
        steps = "" if self.engine.steps is None else f", {self.engine.steps} steps"
        return f"{kind} with {named(self.hyper, exact)}{steps}" if self.hyper else f"{kind}{steps}"

    def described(self) -> dict[str, Any]:
        """A JSON value that describes it; enough to rerun a baseline whose hyperparameters are numbers."""
        algorithm = getattr(self.engine, "algorithm", None)
        numbers = {name: np.asarray(value) for name, value in self.hyper.items()}
        plain = all(value.ndim == 0 and value.dtype.kind in "biufU" for value in numbers.values())
        return {
            "algorithm": None if algorithm is None else described(algorithm),
            "hyper": {name: value.item() for name, value in numbers.items()} if plain else None,
            "steps": self.engine.steps,
            "text": str(self),
        } | ({"engine": described(self.engine)} if self.foreign else {})

    def losses(
        self,
        score: AbstractScore,
        instances: Instances,
        store: Tiles | None = None,
        start: Float[np.ndarray, " run"] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The losses of its runs on these instances, infinite for a failed run; and how runs failed.

        A solver of one's own whose losses are compared is refused if it tells no start losses, or, if some are given,
        different ones.
        """
        table = score.runs(self.engine).table(self._candidates, instances, None, store)
        if self.foreign and score.relative:
            if table.start is None and np.isfinite(table.losses).any():
                _refuse_silent(self.name)
            if table.start is not None and start is not None:
                _refuse_other_start(self.name, table.start, start)
        losses = self._repeated(table.losses[0], instances)
        return np.where(np.isfinite(losses), losses, np.inf), failures_of([table.provenance])

    def rehearse(self, score: AbstractScore, few: Instances) -> None:
        """Refuse a solver of one's own whose losses cannot be compared, before anything is learned."""
        if self.foreign and score.relative:
            self.losses(score, few)

    def curve(
        self, score: AbstractScore, instances: Instances, at: tuple[int, ...], store: Tiles | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The losses of its runs, and those [run, step] along the way; None if it does not have as many steps."""
        engine = score.runs(self.engine)
        found = engine.curves(self._candidates, instances, at, store) if engine.steps == at[-1] else None
        if found is None:
            return self.losses(score, instances, store)[0], None
        table, losses = found
        last = self._repeated(table.losses[0], instances)
        return np.where(np.isfinite(last), last, np.inf), self._repeated(losses[0], instances)

    @property
    def _candidates(self) -> dict[str, np.ndarray]:
        return {name: np.asarray([value]) for name, value in self.hyper.items()}

    def _repeated(self, losses: np.ndarray, instances: Instances) -> np.ndarray:
        """The losses, with the same run repeated for every seed of the others."""
        once = instances.draws is None or self.engine.random
        return losses if once or instances.draws is None else np.repeat(losses, instances.draws.seeds.shape[1], axis=0)


def opponents(
    given: Any, engine: AbstractEngine, parts: Split, standard: Standard, curvature: tuple[float, float] | None
) -> tuple[Opponent, ...]:
    """The baselines asked for, by name, in their order; by default its rivals and the textbook, if there is one."""
    if given is None:
        return ()
    if isinstance(given, str) and given == TEXTBOOK:
        if standard.hyper is None:
            return ()
        beside = {f"{i}": Baseline(algorithm=other) for i, other in enumerate(engine.rivals)}
        others = [_opponent("", each, engine, parts, standard.curvature) for each in beside.values()]
        return *others, Opponent(engine.usual, engine, standard.hyper)
    several = isinstance(given, Mapping) and any(
        isinstance(each, Baseline | Mapping) or _learned(each) for each in given.values()
    )
    asked = dict(given) if several else {"": given}
    return tuple(_opponent(name, each, engine, parts, curvature) for name, each in asked.items())


def compared_with(
    opponents: tuple[Opponent, ...], rows: Mapping[str, Mapping[str, Any]], engine: AbstractEngine
) -> tuple[Opponent, ...]:
    """The baselines that are not among the rows compared anyway."""
    return tuple(
        each
        for each in opponents
        if each.engine is not engine or not any(same_hyper(dict(row), each.hyper) for row in rows.values())
    )


def _opponent(
    name: str, given: Any, engine: AbstractEngine, parts: Split, curvature: tuple[float, float] | None
) -> Opponent:
    baseline = Baseline(given) if isinstance(given, Mapping) or _learned(given) else given
    if not isinstance(baseline, Baseline):
        raise DesignError(
            f"baseline is {given!r}.",
            "It is hyperparameters, a Baseline, or several of these by name.",
            "",
            'Use "textbook", {"step_size": 0.1}, or None for no gain.',
        )
    runs = _engine(baseline, engine)
    alone = baseline.hyper is None and not runs.space
    hyper: Any = {} if alone else baseline.hyper
    textbook = baseline.hyper is None
    if _learned(hyper):
        _refuse_fitted(name, hyper, parts)
        hyper = hyper.hyper
    if hyper is None:
        hyper = runs.standard(parts.prior, curvature).hyper
    if hyper is None:
        raise DesignError(
            f"The baseline {name!r} has no hyperparameters, and there is no textbook for it.",
            "A baseline is fixed before training instances are seen.",
            "",
            'Give them: pacopt.Baseline({"step_size": 0.1}).',
        )
    if not isinstance(hyper, Mapping):
        raise DesignError(
            f"The hyperparameters of the baseline {name or 'given'!r} are {hyper!r}.",
            "They go by their names.",
            "",
            'Use {"step_size": 0.1}.',
        )
    runs.check({key: np.asarray([value]) for key, value in hyper.items()}, parts.train)
    kind = None if baseline.algorithm is None else type(baseline.algorithm).__name__
    foreign = baseline.engine is not None
    if alone and kind:
        called = kind
    elif textbook and not foreign:
        called = f"textbook {kind}" if kind else "the textbook"
    else:
        called = f"the {kind} baseline" if kind else "the baseline"
    return Opponent(name or called, runs, hyper, foreign)


def _learned(value: Any) -> bool:
    """Whether it was returned by `learn`: hyperparameters with a certificate and a table."""
    return all(hasattr(value, name) for name in ("hyper", "certificate", "table"))


def _refuse_fitted(name: str, learned: Any, parts: Split) -> None:
    """Refuse hyperparameters that were learned from some of the training instances."""
    marks = () if learned.table.fingerprints is None else Sources.of_instances(learned.table.fingerprints).instances
    sources = learned.certificate.design.sources
    known = {*marks, *(() if sources is None else sources.instances)}
    shared = known & set(Sources.of_instances(parts.train.fingerprints).instances)
    if shared and not parts.allow_duplicates:
        raise DesignError(
            f"The baseline {name or 'given'!r} was learned from {len(shared)} of the training instances.",
            "A baseline is fixed before training instances are seen.",
            "A baseline fitted to them does better on them than on new ones, and a gain over it would not hold.",
            "Learn it from other instances, or take them out of the training split.",
        )


def _engine(baseline: Baseline, engine: AbstractEngine) -> AbstractEngine:
    """The engine of a baseline: that of the learned algorithm, or the same problem with another algorithm or length."""
    if baseline.engine is not None:
        return _other_engine(baseline)
    if baseline.algorithm is None and baseline.steps is None:
        return engine
    from pacopt.engines.traced.checks import checked_steps
    from pacopt.engines.traced.engine import Traced

    if not isinstance(engine, Traced):
        raise DesignError(
            f"The baseline has another algorithm or number of steps, and runs are made by {type(engine).__name__}.",
            "Only algorithms in JAX can be combined this way.",
            "",
            "Give hyperparameters of the engine.",
        )
    steps = engine.length if baseline.steps is None else checked_steps(baseline.steps)
    return Traced(engine.problem, baseline.algorithm or engine.algorithm, steps, engine.dtype)


def _other_engine(baseline: Baseline) -> AbstractEngine:
    """The baseline's own solver; it knows its algorithm and its steps."""
    if not isinstance(baseline.engine, AbstractEngine) or baseline.algorithm is not None or baseline.steps is not None:
        raise DesignError(
            f"The baseline is {baseline!r}.",
            "It has an engine, or an algorithm with its steps.",
            "Two answers to one question could differ.",
            "Use pacopt.Baseline(engine=pacopt.BlackBox(solve, {})).",
        )
    return baseline.engine


def _refuse_other_start(name: str, theirs: np.ndarray, ours: np.ndarray) -> None:
    """Refuse a solver of another problem: losses that are compared must start at the same value."""
    told = (theirs != UNKNOWN_START) & (ours != UNKNOWN_START)
    other = np.flatnonzero(told & ~(np.abs(theirs - ours) <= ROUNDING * np.abs(ours)))
    if len(other):
        j = int(other[0])
        raise DesignError(
            f"On training instance {j} the baseline {name!r} starts at the loss {float(theirs[j])!r}, and what is "
            f"learned at {float(ours[j])!r}.",
            "Both solve the same problem from the same start.",
            "Losses of two problems cannot be compared, and a gain would mean nothing.",
            "Return the loss of this very problem, less its minimum if the problem has a known one.",
        )


def _refuse_silent(name: str) -> None:
    """Refuse a solver that does not show that its losses are of this problem."""
    raise DesignError(
        f"The baseline {name!r} returns losses, but not the loss at the start.",
        "A solver whose losses are compared returns both: start_loss is the loss of this problem at its start.",
        "Only this shows that both losses are of one problem, counted from the same zero. Otherwise a gain would mean "
        "nothing.",
        "Return pacopt.Result(loss=..., start_loss=...), both computed by one function, less the minimum if the "
        "problem has a known one.",
    )
