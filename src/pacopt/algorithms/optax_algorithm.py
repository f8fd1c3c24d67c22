"""Any gradient transformation of optax, with its numbers as hyperparameters."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.errors import AlgorithmError, suggest
from pacopt.problems.base import Objective, Point
from pacopt.space import AbstractSpace, Choice, Tree


class State(NamedTuple):
    """The point, and what the transformation carries."""

    x: Point
    inner: Any


class Optax(AbstractAlgorithm):
    """x_next = x + update(gradient(x)), with the updates of an optax transformation.

    `Optax(optax.adam, learning_rate=Interval(1e-4, 1.0, log=True), b1=Interval(0.0, 0.99), eps=1e-9)` takes a function
    that makes a `GradientTransformation`, and its arguments by name. An argument that is a space is a hyperparameter;
    everything else is given to the function as it is: numbers, schedules, masks. A function of your own that chains
    transformations will do, too.

    **Gradients** One for each step and none at the start. The loss at the point comes with it, so that transformations
    that ask for `value` or `grad` get them (`optax.polyak_sgd`). A transformation that evaluates the loss itself
    (`value_fn`, for a line search) is refused: its steps would be of another price.

    All candidates run in one compiled program, since the transformation is made from traced numbers. A `Choice` of
    numbers or booleans (`nesterov=Choice(False, True)`) is compiled once for each of its values.

    A stored run finds functions of optax again by their names; one of your own is passed to `Learned.load`.

    >>> import optax
    >>> from pacopt import Interval
    >>> Optax(optax.adam, learning_rate=Interval(1e-4, 1.0, log=True), b1=0.8).hyperparameters
    {'learning_rate': Interval(low=0.0001, high=1.0, log=True)}
    """

    #: The function that makes the transformation.
    factory: Any = eqx.field(static=True)
    #: By name, as pairs: compiled functions are found again by them.
    spaces: tuple[tuple[str, AbstractSpace], ...] = eqx.field(static=True)
    fixed: Mapping[str, Any]

    def __init__(self, factory: Any, /, **arguments: Any) -> None:
        self.factory = factory
        self.spaces = tuple((name, each) for name, each in arguments.items() if isinstance(each, AbstractSpace))
        self.fixed = {name: each for name, each in arguments.items() if not isinstance(each, AbstractSpace)}

    def __check_init__(self) -> None:
        """Refuse what makes no transformation, and hyperparameters that are not numbers."""
        _check_names(self.factory, (*self.hyperparameters, *self.fixed))
        _check_numbers(self.hyperparameters | dict(self.fixed))
        _check_made(self)

    @property
    def hyperparameters(self) -> dict[str, AbstractSpace]:
        """The arguments that were given as spaces."""
        return dict(self.spaces)

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The point, and the transformation at rest."""
        refuse_nonsmooth(self, objective)
        return State(x, self._made(hyper).init(x))

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """One gradient, one update."""
        import optax  # type: ignore[import-untyped]

        value, gradient = objective.value_and_gradient(state.x)
        transformation = optax.with_extra_args_support(self._made(hyper))
        try:
            updates, inner = transformation.update(gradient, state.inner, state.x, value=value, grad=gradient)
        except TypeError as error:
            if "value_fn" not in str(error):
                raise
            raise AlgorithmError(
                f"{_name(self.factory)} makes a transformation that evaluates the loss itself: {error}.",
                "A step takes one gradient, at the current point.",
                "Steps are what is counted: a line search inside of one would be free.",
                "Take pacopt.LBFGS, whose trials are steps; or optax.lbfgs with linesearch=None.",
            ) from error
        return State(optax.apply_updates(state.x, updates), inner)

    def read(self, state: State) -> Point:
        """The point itself."""
        return state.x

    def _made(self, hyper: Hyper) -> Any:
        return self.factory(**self.fixed, **hyper)


def _name(factory: Any) -> str:
    return getattr(factory, "__name__", None) or repr(factory)


def _check_names(factory: Any, names: tuple[str, ...]) -> None:
    example = "Write Optax(optax.adam, learning_rate=pacopt.Interval(1e-4, 1.0, log=True)), for example."
    if not callable(factory):
        made = hasattr(factory, "init") and hasattr(factory, "update")
        raise AlgorithmError(
            f"{'A transformation' if made else 'An object of type ' + type(factory).__name__} was given.",
            "The function that makes it is needed, and its arguments by name.",
            "It is made anew from the numbers of each candidate.",
            example,
        )
    try:
        known = inspect.signature(factory).parameters
    except ValueError:  # written in C: nobody can tell
        return
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return
    for name in names:
        if name not in known:
            raise AlgorithmError(
                f"{_name(factory)} has no argument {name!r}.",
                "Hyperparameters are arguments of it.",
                "",
                f"For {name!r}: {suggest(name, known)}",
            )
    for name, each in known.items():
        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL and name not in names:
            raise AlgorithmError(
                f"{_name(factory)} needs {name!r}, and it was not given.",
                "Each argument without a default is a space or a value.",
                "",
                f"Add {name}=pacopt.Interval(low, high), or a number.",
            )


def _check_numbers(arguments: Mapping[str, Any]) -> None:
    for name, each in arguments.items():
        texts = isinstance(each, Choice) and any(isinstance(value, str) for value in each.values)
        if texts or isinstance(each, Tree):
            raise AlgorithmError(
                f"The hyperparameter {name!r} is {'a choice of texts' if texts else 'a pytree'}.",
                "Hyperparameters of a transformation are numbers: Interval, Whole, Array, or a Choice of numbers.",
                "",
                "Fix it, or write a function that chooses by a number.",
            )


def _check_made(algorithm: Optax) -> None:
    """Make the transformation once, of traced numbers, as a run will."""
    made: list[Any] = []
    traced = {name: jnp.zeros(each.shape) for name, each in algorithm.spaces if not isinstance(each, Choice)}
    chosen = {name: each.values[0] for name, each in algorithm.spaces if isinstance(each, Choice)}
    name = _name(algorithm.factory)
    try:
        jax.eval_shape(lambda hyper: made.append(algorithm._made(hyper | chosen)), traced)
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as error:
        raise AlgorithmError(
            f"{name} decides with Python code what to do for a value of {', '.join(traced)}.",
            "A hyperparameter is a number that goes into arithmetic.",
            "All candidates run in one compiled program, which cannot depend on their values.",
            "Give that argument as a fixed value, or as a pacopt.Choice of numbers.",
        ) from error
    except (TypeError, ValueError) as error:
        raise AlgorithmError(
            f"{name} refuses what it was given: {str(error).rstrip('.')}.",
            "It makes a transformation of numbers.",
            "",
            "Fix that argument to a value that it takes.",
        ) from error
    if not (hasattr(made[0], "init") and hasattr(made[0], "update")):
        raise AlgorithmError(
            f"{name} returns {type(made[0]).__name__}.",
            "An optax.GradientTransformation is needed: a pair of init and update.",
            "",
            "Pass optax.adam, optax.sgd, or a function that returns optax.chain(...).",
        )
