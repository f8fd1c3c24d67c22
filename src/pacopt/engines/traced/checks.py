"""Everything that can be refused before anything long starts."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.precision import shape_of
from pacopt.errors import AlgorithmError, CandidatesError, InstancesError, PacoptError, ProblemError, suggest
from pacopt.instances import Instances
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, AbstractProximable, Objective
from pacopt.space import Domain, Interval
from pacopt.support.arrays import frozen
from pacopt.support.numbers import is_whole


def check_kinds(problem: Any, algorithm: Any, instances: Any) -> None:
    """Refuse a class in place of an object, what is no problem, algorithm or instances, and no instances at all."""
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
    if not len(instances):
        raise InstancesError(
            "There are no instances.",
            "A table has at least one column.",
            "",
            "Check how the instances were split.",
        )


def checked_domain(algorithm: AbstractAlgorithm) -> Domain:
    """Where the hyperparameters of an algorithm are looked for."""
    domain = type(algorithm).hyperparameters
    if not isinstance(domain, Mapping) or not domain or not all(isinstance(i, Interval) for i in domain.values()):
        raise AlgorithmError(
            f"{type(algorithm).__name__}.hyperparameters is {domain!r}.",
            "Each hyperparameter has a name and an Interval.",
            "It says where good values are looked for.",
            'Write hyperparameters = {"step_size": pacopt.Interval(1e-6, 1.0, log=True)}.',
        )
    for name in domain:
        if not isinstance(name, str) or not name.isprintable() or not name.strip() or "\\" in name:
            raise AlgorithmError(
                f"{type(algorithm).__name__} has a hyperparameter named {name!r}.",
                "A name is a text that can be printed, without backslashes.",
                "It stands in statements and reports.",
                "Rename it.",
            )
    return domain


def check_success(success: Any) -> None:
    """Refuse a success predicate that cannot be called."""
    if success is not None and not callable(success):
        raise ProblemError(
            f"The success predicate is {success!r}.",
            "It is a function of the final point and the instance that returns one boolean.",
            "",
            "Pass success=lambda x, instance: ..., or leave it out.",
        )


def checked_steps(steps: Any) -> int:
    """The number of steps, at least one."""
    if not is_whole(steps, 1):
        raise AlgorithmError(
            f"steps is {steps!r}.",
            "A run has a whole number of steps, at least 1.",
            "Without a step all candidates do the same.",
            "Pass steps=50, for example.",
        )
    return int(steps)


def checked_candidates(algorithm: AbstractAlgorithm, candidates: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The candidates as one float64 array for each hyperparameter; a single number stands for one candidate."""
    declared = type(algorithm).hyperparameters
    name = type(algorithm).__name__
    for value, meaning in ((declared, f"{name}.hyperparameters"), (candidates, "The candidates")):
        if not isinstance(value, Mapping):
            raise CandidatesError(
                f"{meaning} are a {type(value).__name__}.",
                "Hyperparameters go by their names.",
                "",
                'Use a mapping such as {"step_size": [0.1, 0.2]}, one array for each.',
            )
    for unknown in candidates.keys() - declared.keys():
        raise CandidatesError(
            f"{name} has no hyperparameter {unknown!r}.",
            f"Its hyperparameters are {', '.join(declared)}.",
            "A value that is never read would be certified as if it mattered.",
            f"For {unknown!r}: {suggest(unknown, declared)}",
        )
    for absent in declared.keys() - candidates.keys():
        raise CandidatesError(
            f"The candidates have no values for {absent!r}.",
            f"{name} needs {', '.join(declared)}.",
            "",
            f"Add {absent!r}, constant if it is not to be learned.",
        )
    arrays = {key: np.atleast_1d(_numbers(key, candidates[key])) for key in declared}
    shapes = {key: array.shape for key, array in arrays.items()}
    if len(set(shapes.values())) != 1 or any(array.ndim != 1 or not array.size for array in arrays.values()):
        raise CandidatesError(
            f"The candidates have shapes {shapes}.",
            "Each hyperparameter is a list of numbers, one for each candidate, at least one.",
            "Candidate i consists of the i-th value of each.",
            "For a grid use numpy.meshgrid(...) and flatten.",
        )
    for key, array in arrays.items():
        bad = np.flatnonzero(~np.isfinite(array))
        if len(bad):
            raise CandidatesError(
                f"{key} of candidate {bad[0]} is {array[bad[0]]}.",
                "Hyperparameters are finite numbers.",
                "",
                "Remove it.",
            )
    return {key: frozen(array) for key, array in arrays.items()}


def _numbers(key: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiu" and array.size:
        raise CandidatesError(
            f"The values of {key!r} are of type {array.dtype}.", "They are real numbers.", "", "Pass a list of floats."
        )
    return array.astype(np.float64)


def checked_at(at: Iterable[int] | None, steps: int) -> tuple[int, ...]:
    """The steps at which losses are recorded; the last one if nothing is said."""
    recorded = (steps,) if at is None else tuple(at) if isinstance(at, Iterable) else (at,)
    whole = all(isinstance(step, int | np.integer) for step in recorded)
    if not recorded or not whole or min(recorded) < 0 or max(recorded) > steps or len(set(recorded)) != len(recorded):
        raise AlgorithmError(
            f"Losses are to be recorded at {recorded}.",
            f"Recorded steps are distinct, from 0 (the start) to {steps} (the end).",
            "",
            "For all of them use range(steps + 1).",
        )
    return tuple(int(step) for step in recorded)


def state_of(cell: Cell, hyper: Any, instance: Any, dtype: np.dtype[Any]) -> list[jax.ShapeDtypeStruct]:
    """The arrays that one run carries, found without running it; raises if problem and algorithm do not fit."""
    problem, algorithm = cell.problem, cell.algorithm
    objective = Objective(problem, instance)

    def shape(error: type[PacoptError], method: Any, *arguments: Any, given: Any = (), note: str = "") -> Any:
        """Only `arguments` are traced; the plain fields of a problem stay what they are."""
        name = f"{type(method.__self__).__name__}.{method.__name__}"
        with _explained(error, name + note, instance if error is ProblemError else hyper):
            return shape_of(lambda *traced: method(*traced, *given), *arguments, dtype=dtype, name=name)

    x = shape(ProblemError, problem.start, instance)
    leaves = jax.tree.leaves(x)
    if not leaves or any(getattr(leaf, "dtype", None) != dtype for leaf in leaves) or not sum(x.size for x in leaves):
        raise ProblemError(
            f"{type(problem).__name__}.start returns {_describe(x)}.",
            f"The start is made of {dtype} arrays.",
            "Gradients exist for real numbers only, and another precision would enter the table silently.",
            "Use jax.numpy.zeros(n), which has the precision of the run, and no integer or fixed dtype.",
        )
    at_start = f" at a start of {_describe(x)}"
    _refuse_no_number(problem.loss, shape(ProblemError, problem.loss, x, instance, note=at_start), dtype)
    if isinstance(problem, AbstractProximable):
        _refuse_no_number(problem.smooth, shape(ProblemError, problem.smooth, x, instance, note=at_start), dtype)
    if isinstance(problem, AbstractKnownMinimum):
        _refuse_no_number(problem.minimum, shape(ProblemError, problem.minimum, instance), dtype)

    state = shape(AlgorithmError, algorithm.init, x, given=(hyper, objective))
    after = shape(AlgorithmError, algorithm.step, state, given=(hyper, objective))
    _refuse_change(f"{type(algorithm).__name__}.step", "the state it was given", state, after)
    point = shape(AlgorithmError, algorithm.read, state)
    _refuse_change(f"{type(algorithm).__name__}.read", "a point like the start", x, point)
    if cell.success is not None:
        with _explained(ProblemError, "The success predicate", instance):
            verdict = shape_of(cell.success, x, instance, dtype=dtype, name="the success predicate")
        if getattr(verdict, "shape", None) != () or verdict.dtype != np.bool_:
            raise ProblemError(
                f"The success predicate returns {_describe(verdict)}.",
                "It returns one boolean for each run.",
                "",
                "End it with a comparison and reduce it with jax.numpy.all.",
            )
    return jax.tree.leaves(state)


def _refuse_no_number(method: Any, value: Any, dtype: np.dtype[Any]) -> None:
    if getattr(value, "shape", None) != () or value.dtype != dtype:
        raise ProblemError(
            f"{type(method.__self__).__name__}.{method.__name__} returns {_describe(value)}.",
            f"A loss is a single {dtype} number.",
            "It is differentiated, compared and averaged.",
            "Reduce an array with jax.numpy.sum or mean, and make integers real before the last operation.",
        )


def _refuse_change(name: str, like: str, before: Any, after: Any) -> None:
    def kind(tree: Any) -> tuple[Any, list[Any]]:
        return jax.tree.structure(tree), [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]

    if kind(before) != kind(after):
        raise AlgorithmError(
            f"{name} returns {_describe(after)}.",
            f"It returns {like}: {_describe(before)}.",
            "All steps are compiled as one loop, in which structure, shapes and number types stay the same.",
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
        raise error(
            f"{place} asks for {missing!r}.",
            f"There is {', '.join(map(repr, names))}.",
            "",
            suggest(missing, names),
        ) from cause
    except jax.errors.ConcretizationTypeError as cause:
        raise error(
            f"{place} looks at the value of a traced array ({type(cause).__name__}).",
            "It is compiled once for all instances, so no value is known while it is traced.",
            "",
            "Use jax.numpy.where or jax.lax.cond in place of `if`, and shapes in place of values.",
        ) from cause
    except (TypeError, ValueError) as cause:
        raise error(
            f"{place} fails: {str(cause).rstrip('.')}.",
            "It has to work on one instance (without the leading axis) and be traceable by JAX.",
            "",
            "Check the shapes of the start and of the instance's arrays.",
        ) from cause
