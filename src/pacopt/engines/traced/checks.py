"""Everything that can be refused before anything long starts."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.foreknowledge import refuse_foreknowledge
from pacopt.engines.traced.nesting import flat_space, flattened
from pacopt.engines.traced.precision import shape_of
from pacopt.engines.traced.static import as_run
from pacopt.errors import AlgorithmError, CandidatesError, InstancesError, PacoptError, ProblemError, correction
from pacopt.instances import Instances
from pacopt.problems.base import AbstractKnownMinimum, AbstractMetric, AbstractProblem, AbstractProximable, Objective
from pacopt.space import AbstractSpace, Choice, Whole
from pacopt.support.arrays import frozen
from pacopt.support.numbers import is_whole
from pacopt.support.values import ONLY, short

#: A counter has 32 bits.
MOST_STEPS = 2**31 - 1


def check_kinds(problem: Any, algorithm: Any, instances: Any) -> None:
    """Refuse a class in place of an object, anything of the wrong type, and an empty set of instances."""
    kinds = ((problem, AbstractProblem, ProblemError), (algorithm, AbstractAlgorithm, AlgorithmError))
    for value, base, error in (*kinds, (instances, Instances, InstancesError)):
        if not isinstance(value, base):
            called = isinstance(value, type) and issubclass(value, base)
            raise error(
                f"{value} was given."
                if isinstance(value, type)
                else f"An object of type {type(value).__name__} was given.",
                f"An object of type {base.__name__} is needed.",
                "",
                f"Call the class: {value.__name__}()." if called else f"Make it one: pacopt.{base.__name__}.",
            )
    if instances.content is not None:
        raise InstancesError(
            f"The instances are {next(iter(instances.kinds))}s.",
            "An algorithm in JAX needs arrays.",
            "",
            "Load them into arrays, or use a pacopt.BlackBox.",
        )
    if not len(instances):
        raise InstancesError(
            "There are no instances.",
            "A table needs at least one column.",
            "",
            "Check how the instances were split.",
        )


def check_success(success: Any) -> None:
    """Refuse a success predicate that cannot be called."""
    if success is not None and not callable(success):
        raise ProblemError(
            f"The success predicate is {success!r}.",
            "It must be a function of the final point and the instance that returns one boolean.",
            "",
            "Pass success=lambda x, instance: ..., or leave it out.",
        )


def checked_steps(steps: Any) -> int:
    """The number of steps, at least one."""
    if not is_whole(steps, 1) or steps > MOST_STEPS:
        raise AlgorithmError(
            "steps is 2^31 or more." if is_whole(steps, 1) else f"steps is {steps!r}.",
            "The number of steps must be a whole number, at least 1 and below 2^31.",
            "Without a step all candidates are the same, and the counter has 32 bits.",
            "Pass steps=50, for example.",
        )
    return int(steps)


def checked_candidates(algorithm: AbstractAlgorithm, candidates: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The candidates as one array for each hyperparameter; a single value means one candidate.

    An algorithm without hyperparameters has one candidate, which is called 0.
    """
    declared, name = flat_space(algorithm), type(algorithm).__name__
    if not isinstance(candidates, Mapping):
        raise CandidatesError(
            f"The candidates are a {type(candidates).__name__}.",
            "Hyperparameters are given by name.",
            "",
            'Use a mapping such as {"step_size": [0.1, 0.2]}, with one array for each.',
        )
    if not declared:
        return _the_only_one(name, candidates)
    given = flattened(algorithm, candidates)
    for unknown in given.keys() - declared.keys():
        raise CandidatesError(
            f"{name} has no hyperparameter {unknown!r}.",
            f"Its hyperparameters are {', '.join(declared)}.",
            "A value that is never read would be certified as if it mattered.",
            correction(unknown, declared),
        )
    for absent in declared.keys() - given.keys():
        raise CandidatesError(
            f"The candidates have no values for {absent!r}.",
            f"{name} needs {', '.join(declared)}.",
            "",
            f"Add {absent!r}; make it constant if it should not be learned.",
        )
    arrays = {key: _values(key, given[key], space) for key, space in declared.items()}
    lengths = {key: array.shape for key, array in arrays.items()}
    if len({shape[:1] for shape in lengths.values()}) != 1 or any(not array.size for array in arrays.values()):
        raise CandidatesError(
            f"The candidates have shapes {lengths}.",
            "Each hyperparameter needs one value for each candidate, and at least one.",
            "Candidate i consists of the i-th value of each.",
            "For a grid, use numpy.meshgrid(...) and flatten the arrays.",
        )
    return {key: frozen(array) for key, array in arrays.items()}


def _the_only_one(name: str, candidates: Mapping[str, Any]) -> dict[str, np.ndarray]:
    if candidates.keys() - {ONLY} or np.size(candidates.get(ONLY, 0)) != 1:
        raise CandidatesError(
            f"{name} has no hyperparameters, but candidates were given: {', '.join(candidates)}.",
            "The only candidate is the algorithm itself.",
            "",
            "Pass {}.",
        )
    return {ONLY: frozen(np.zeros(1))}


def _values(key: str, values: Any, space: AbstractSpace) -> np.ndarray:
    """The values of one hyperparameter, checked by its space."""
    try:
        array = given = np.asarray(values)
    except ValueError:
        array = given = np.asarray(None)
    if array.ndim == len(space.shape):
        array = array[None]
    if space.static or (array.dtype.kind in "iu" and isinstance(space, Whole)):
        array = array if array.dtype.kind not in "iu" else array.astype(np.int64)
    elif array.dtype.kind in "fiu":
        array = array.astype(np.float64)
    if not space.holds(array):
        raise CandidatesError(
            f"The values of {key!r} are of type {given.dtype} and of shape {list(given.shape)}: {_some(given, space)}.",
            f"They must be values of {space!r}, one for each candidate.",
            "",
            "Correct the values, or the space of the algorithm.",
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array.reshape(len(array), -1)).all(axis=1)))
        raise CandidatesError(
            f"{key} of candidate {bad} is {short(array[bad] if array.ndim > 1 else float(array[bad]))}.",
            "Hyperparameters must be finite.",
            "",
            "Remove that candidate.",
        )
    return array


def _some(values: np.ndarray, space: AbstractSpace) -> str:
    """A few of the values; for a choice, those it does not have."""
    every = values.ravel().tolist()
    odd = [value for value in every if isinstance(space, Choice) and value not in space.values] or every
    return ", ".join(map(repr, odd[:3])) + (", ..." if len(odd) > 3 else "")


def checked_at(at: Iterable[int] | None, steps: int) -> tuple[int, ...]:
    """The steps at which losses are recorded; by default, the last one."""
    recorded = (steps,) if at is None else tuple(at) if isinstance(at, Iterable) else (at,)
    whole = all(isinstance(step, int | np.integer) for step in recorded)
    if not recorded or not whole or min(recorded) < 0 or max(recorded) > steps or len(set(recorded)) != len(recorded):
        raise AlgorithmError(
            f"Losses are to be recorded at {recorded}.",
            f"Recorded steps must be distinct whole numbers from 0 (the start) to {steps} (the end).",
            "",
            "To record all of them, use range(steps + 1).",
        )
    return tuple(int(step) for step in recorded)


def state_of(cell: Cell, values: Any, instance: Any, dtype: np.dtype[Any]) -> list[jax.ShapeDtypeStruct]:
    """The arrays that one run carries, found without running it; raises if problem and algorithm do not match."""
    # As in a run, arrays of a problem become JAX arrays, and other fields stay as they are.
    problem, algorithm = as_run(cell.problem), cell.algorithm
    key = (jax.random.key(0),) if cell.random else ()

    def shape(error: type[PacoptError], method: Any, *arguments: Any, steps: bool = False, note: str = "") -> Any:
        """The shape of what a method returns; a step also gets hyperparameters, objective and key."""
        name = f"{type(method.__self__).__name__}.{method.__name__}"

        def called(values: Any, instance: Any, *arguments: Any) -> Any:
            return method(*arguments, *((cell.hyper(values), Objective(problem, instance), *key) if steps else ()))

        with _explained(error, name + note, instance if error is ProblemError else cell.hyper(values)):
            return shape_of(called, values, instance, *arguments, dtype=dtype, name=name)

    x = shape(ProblemError, problem.start, instance)
    leaves = jax.tree.leaves(x)
    if not leaves or any(getattr(leaf, "dtype", None) != dtype for leaf in leaves) or not sum(x.size for x in leaves):
        raise ProblemError(
            f"{type(problem).__name__}.start returns {_describe(x)}.",
            f"The start must consist of {dtype} arrays.",
            "Gradients exist only for real numbers, and another precision would enter the table unnoticed.",
            "Use jax.numpy.zeros(n), which has the precision of the run, rather than integers or a fixed dtype.",
        )
    at_start = f" at a start of {_describe(x)}"
    _refuse_no_number(problem.loss, shape(ProblemError, problem.loss, x, instance, note=at_start), dtype)
    if isinstance(problem, AbstractProximable):
        _refuse_no_number(problem.smooth, shape(ProblemError, problem.smooth, x, instance, note=at_start), dtype)
    if isinstance(problem, AbstractMetric):
        _refuse_no_number(problem.metric, shape(ProblemError, problem.metric, x, instance, note=at_start), dtype)
    if isinstance(problem, AbstractKnownMinimum):
        _refuse_no_number(problem.minimum, shape(ProblemError, problem.minimum, instance), dtype)

    state = shape(AlgorithmError, algorithm.init, x, steps=True)
    after = shape(AlgorithmError, algorithm.step, state, steps=True)
    _refuse_change(f"{type(algorithm).__name__}.step", "a state like the one it was given", state, after)
    point = shape(AlgorithmError, algorithm.read, state)
    _refuse_change(f"{type(algorithm).__name__}.read", "a point like the start", x, point)
    refuse_foreknowledge(cell, values, instance)
    if cell.predicate is not None:
        with _explained(ProblemError, "The success predicate", instance):
            verdict = shape_of(cell.predicate, x, instance, dtype=dtype, name="the success predicate")
        if getattr(verdict, "shape", None) != () or verdict.dtype != np.bool_:
            raise ProblemError(
                f"The success predicate returns {_describe(verdict)}.",
                "It must return one boolean for each run.",
                "",
                "End it with a comparison, reduced by jax.numpy.all.",
            )
    return jax.tree.leaves(state)


def _refuse_no_number(method: Any, value: Any, dtype: np.dtype[Any]) -> None:
    if getattr(value, "shape", None) != () or value.dtype != dtype:
        raise ProblemError(
            f"{type(method.__self__).__name__}.{method.__name__} returns {_describe(value)}.",
            f"It must return a single {dtype} number.",
            "That number is differentiated, compared or averaged.",
            "Reduce arrays with jax.numpy.sum or mean, and convert integers to reals before the last operation.",
        )


def _refuse_change(name: str, like: str, before: Any, after: Any) -> None:
    def kind(tree: Any) -> tuple[Any, list[Any]]:
        return jax.tree.structure(tree), [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]

    if kind(before) != kind(after):
        raise AlgorithmError(
            f"{name} returns {_describe(after)}.",
            f"It must return {like}: {_describe(before)}.",
            "All steps are compiled as one loop, in which structure, shapes and dtypes must stay the same.",
            "Give `init` the structure that `step` returns.",
        )


def _describe(tree: Any) -> str:
    leaves = jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", tree)
    return "nothing" if not jax.tree.leaves(leaves) else str(leaves).replace("'", "")


@contextmanager
def _explained(error: type[PacoptError], place: str, names: Mapping[str, Any]) -> Iterator[None]:
    """Turn what a user's function raises while it is traced into an error that says where and what to do."""
    try:
        yield
    except PacoptError:
        raise
    except KeyError as cause:
        missing = str(cause.args[0])
        owner = "The instances have" if error is ProblemError else "The algorithm has the hyperparameters"
        raise error(
            f"{place} asks for {missing!r}.",
            f"{owner}: {', '.join(map(repr, names)) or 'nothing'}.",
            "",
            correction(missing, names),
        ) from cause
    except jax.errors.ConcretizationTypeError as cause:
        raise error(
            f"{place} looks at the value of a traced array ({type(cause).__name__}).",
            "It is compiled once for all instances, so no value is known while it is traced.",
            "",
            "Use jax.numpy.where or jax.lax.cond instead of `if`, and shapes instead of values; a hyperparameter whose "
            "value must be known is a pacopt.Choice.",
        ) from cause
    except (TypeError, ValueError) as cause:
        raise error(
            f"{place} fails: {str(cause).rstrip('.')}.",
            "It must work on a single instance (without the leading axis), and JAX must be able to trace it.",
            "",
            "Check the shapes of the start and of the instance's arrays.",
        ) from cause
