"""Any optax gradient transformation, with its numbers as hyperparameters."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.errors import AlgorithmError, suggest
from pacopt.problems.base import Objective, Point
from pacopt.space import AbstractSpace, Choice, Tree

EXAMPLE = "Write Optax(optax.adam, learning_rate=pacopt.Interval(1e-4, 1.0, log=True)), for example."


class State(NamedTuple):
    """The point, and the state of the transformation."""

    x: Point
    inner: Any


class Optax(AbstractAlgorithm):
    """x_next = x + update(gradient(x)), with the updates from an optax transformation.

    `Optax(optax.adam, learning_rate=Interval(1e-4, 1.0, log=True), b1=Interval(0.0, 0.99), eps=1e-9)` takes a function
    that makes a `GradientTransformation`, and its arguments by name. Arguments that are spaces become hyperparameters;
    everything else is passed to the function unchanged: numbers, schedules, masks. Your own function that chains
    transformations works too.

    **Gradients** One per step and none at the start. The loss at the point comes with it, so transformations that ask
    for `value` or `grad` get them (`optax.polyak_sgd`). A transformation that evaluates the loss itself (`value_fn`,
    for a line search) is refused, because its steps would cost more than one gradient.

    All candidates run in one compiled program, because the transformation is built from traced numbers. A `Choice` of
    numbers or booleans (`nesterov=Choice(False, True)`) is compiled once for each of its values.

    A stored run finds optax functions again by name; pass your own function, or a schedule, to `Learned.load`. A
    transformation that carries a random key (`optax.noisy_sgd`) is refused.

    >>> import optax
    >>> from pacopt import Interval
    >>> Optax(optax.adam, learning_rate=Interval(1e-4, 1.0, log=True), b1=0.8).hyperparameters
    {'learning_rate': Interval(low=0.0001, high=1.0, log=True)}
    """

    #: The function that makes the transformation.
    factory: Any = eqx.field(static=True)
    #: Pairs of name and space; compiled functions are looked up by them.
    spaces: tuple[tuple[str, AbstractSpace], ...] = eqx.field(static=True)
    fixed: Mapping[str, Any]

    def __init__(self, factory: Any, /, *unnamed: Any, **arguments: Any) -> None:
        if unnamed:
            raise AlgorithmError(
                f"{len(unnamed)} of the arguments of {_name(factory)} have no name.",
                "Arguments must be passed by name.",
                "Statements, reports and files refer to hyperparameters by name.",
                EXAMPLE,
            )
        for each in arguments.values():
            # Some optax schedules convert an integer in their closure to a float when first called. Compiled functions
            # and stored runs are looked up by closure contents, which must not change later.
            if inspect.isfunction(each) and each.__module__.startswith("optax.schedules"):
                each(0)
        self.factory = factory
        self.spaces = tuple((name, each) for name, each in arguments.items() if isinstance(each, AbstractSpace))
        self.fixed = {name: each for name, each in arguments.items() if not isinstance(each, AbstractSpace)}

    def __check_init__(self) -> None:
        """Refuse functions that make no transformation, and hyperparameters that are not numbers."""
        _check_names(self.factory, (*self.hyperparameters, *self.fixed))
        _check_numbers(self.hyperparameters | dict(self.fixed))
        _check_made(self)

    @property
    def hyperparameters(self) -> dict[str, AbstractSpace]:
        """The arguments given as spaces."""
        return dict(self.spaces)

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The point, and the transformation at rest."""
        refuse_nonsmooth(self, objective)
        with self._explained(objective):
            inner = self._made(hyper).init(x)
        if any(jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key) for leaf in jax.tree.leaves(inner)):
            raise AlgorithmError(
                f"{_name(self.factory)} makes a transformation that carries a key for random numbers.",
                "A transformation must not draw random numbers.",
                "Every run would draw the same numbers, but a statement is about fresh ones.",
                "Write it as a pacopt.AbstractStochasticAlgorithm, which gets a key for each step.",
            )
        return State(x, inner)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one gradient and one update."""
        import optax  # type: ignore[import-untyped]

        value, gradient = objective.value_and_gradient(state.x)
        transformation = optax.with_extra_args_support(self._made(hyper))
        with self._explained(objective):
            updates, inner = transformation.update(gradient, state.inner, state.x, value=value, grad=gradient)
        return State(optax.apply_updates(state.x, updates), inner)

    def read(self, state: State) -> Point:
        """The point itself."""
        return state.x

    def _made(self, hyper: Hyper) -> Any:
        return self.factory(**self.fixed, **hyper)

    @contextmanager
    def _explained(self, objective: Objective) -> Iterator[None]:
        """Explain what is wrong with a transformation that fails on a point."""
        name = _name(self.factory)
        try:
            yield
        except (AttributeError, TypeError, ValueError) as error:
            if "value_fn" in str(error):
                raise AlgorithmError(
                    f"{name} makes a transformation that evaluates the loss itself: {error}.",
                    "A step may take only one gradient, at the current point.",
                    "Work is counted in steps, so a line search inside a step would be free.",
                    "Use pacopt.LBFGS, whose trials are steps, or optax.lbfgs with linesearch=None.",
                ) from error
            raise AlgorithmError(
                f"{name} makes a transformation that fails on a point of {type(objective.problem).__name__}: "
                f"{str(error).rstrip('.')}.",
                "A transformation must accept points and gradients in the problem's own structure.",
                "",
                "Check what is passed to the function, or use another one.",
            ) from error


def _name(factory: Any) -> str:
    return getattr(factory, "__name__", None) or repr(factory)


def _check_names(factory: Any, names: tuple[str, ...]) -> None:
    if not callable(factory):
        made = hasattr(factory, "init") and hasattr(factory, "update")
        raise AlgorithmError(
            f"{'A transformation' if made else 'An object of type ' + type(factory).__name__} was given.",
            "The function that makes it is needed, with its arguments by name.",
            "The transformation is built anew for each candidate's numbers.",
            EXAMPLE,
        )
    try:
        known = inspect.signature(factory).parameters
    except ValueError:  # written in C: no signature
        return
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return
    for name in names:
        if name not in known:
            raise AlgorithmError(
                f"{_name(factory)} has no argument {name!r}.",
                "Hyperparameters must be arguments of the function.",
                "",
                f"For {name!r}: {suggest(name, known)}",
            )
    for name, each in known.items():
        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL and name not in names:
            raise AlgorithmError(
                f"{_name(factory)} needs {name!r}, which is missing.",
                "Every argument without a default must be given a space or a value.",
                "",
                f"Add {name}=pacopt.Interval(low, high), or a number.",
            )


def _check_numbers(arguments: Mapping[str, Any]) -> None:
    for name, each in arguments.items():
        texts = isinstance(each, Choice) and any(isinstance(value, str) for value in each.values)
        if texts or isinstance(each, Tree):
            raise AlgorithmError(
                f"The hyperparameter {name!r} is {'a choice of texts' if texts else 'a pytree'}.",
                "Hyperparameters of a transformation must be numbers: Interval, Whole, Array, or a Choice of numbers.",
                "",
                "Fix its value, or write a function that selects by a number.",
            )
        if not _is_number(each):
            raise AlgorithmError(
                f"{name!r} is {each!r}.",
                "A number is needed.",
                "",
                f"Write {name}=0.1, or {name}=pacopt.Interval(...).",
            )


def _is_number(value: Any) -> bool:
    """Whether a value is usable: not a number in quotes and not NaN; anything else is fine."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:  # such as the name of a dtype
            return True
        return False
    is_float = isinstance(value, float | np.ndarray | np.generic | jax.Array) and jnp.issubdtype(
        jnp.result_type(value), jnp.inexact
    )
    return not (is_float and np.isnan(value).any())


def _check_made(algorithm: Optax) -> None:
    """Make the transformation once from traced numbers, as a run will."""
    made: list[Any] = []
    traced = {name: jnp.zeros(each.shape) for name, each in algorithm.spaces if not isinstance(each, Choice)}
    chosen = {name: each.values[0] for name, each in algorithm.spaces if isinstance(each, Choice)}
    name = _name(algorithm.factory)
    try:
        jax.eval_shape(lambda hyper: made.append(algorithm._made(hyper | chosen)), traced)
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        raise AlgorithmError(
            f"{name} branches in Python code on the value of {', '.join(traced)}.",
            "A hyperparameter may only be used in arithmetic.",
            "All candidates run in one compiled program, which cannot depend on their values.",
            "Pass that argument as a fixed value, or as a pacopt.Choice of numbers.",
        ) from error
    except (TypeError, ValueError) as error:
        raise AlgorithmError(
            f"{name} refuses its arguments: {str(error).rstrip('.')}.",
            "It must make a transformation from numbers.",
            "",
            "Fix that argument to a value it accepts.",
        ) from error
    if not (hasattr(made[0], "init") and hasattr(made[0], "update")):
        raise AlgorithmError(
            f"{name} returns {type(made[0]).__name__}.",
            "An optax.GradientTransformation is needed: a pair of init and update.",
            "",
            "Pass optax.adam, optax.sgd, or a function that returns optax.chain(...).",
        )
