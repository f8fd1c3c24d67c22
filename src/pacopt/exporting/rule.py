"""What is exported: the deployed algorithm with its hyperparameters, and what its certificate says about it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStochasticAlgorithm
from pacopt.certificate import Certificate
from pacopt.engines.traced.engine import Traced
from pacopt.engines.traced.nesting import flat_space, nested
from pacopt.engines.traced.precision import precision
from pacopt.errors import ExportError
from pacopt.exporting.leaves import Leaf, listed
from pacopt.problems.base import AbstractMetric, AbstractProblem, AbstractProximable, Point
from pacopt.provenance import Origin
from pacopt.statement import subject_of

if TYPE_CHECKING:
    from pacopt.learned import Learned

#: JAX does not annotate it.
SHAPED: Any = jax.ShapeDtypeStruct
#: What an export says about the safeguard, depending on whether it has one.
SAFEGUARD = {
    True: "The point where the run ended is returned if its loss is finite and at most that of the start, else the "
    "start.",
    False: "There is no safeguard here: a run may end above its start.",
}


@dataclass(frozen=True, eq=False)
class Rule:
    """An algorithm with hyperparameters, the steps of a certified run, and the certificate."""

    algorithm: AbstractAlgorithm
    problem: AbstractProblem
    values: dict[str, Any]
    steps: int
    dtype: np.dtype[Any]
    certificate: Certificate
    origin: Origin

    @property
    def identity(self) -> str:
        """The hash of the certificate."""
        return str(self.certificate.to_dict()["hash"])

    @property
    def judged_by_loss(self) -> bool:
        """Whether the safeguard compares losses, which every library has; only the problem knows a metric."""
        return not isinstance(self.problem, AbstractMetric)

    @property
    def horizon(self) -> int | None:
        """The number of steps it can make, if it has numbers for each step and cannot go on forever.

        A longer certified run continues with the last numbers, and so does its export.
        """
        own = _horizon(self.algorithm)
        return None if own is None else max(own, self.steps)

    @cached_property
    def point(self) -> Point:
        """The shapes of a point of the problem, in its structure: an algorithm may treat each array separately."""
        with precision(self.dtype):
            start = jax.eval_shape(self.problem.start, _instance(self.origin))
        return jax.tree.map(lambda leaf: SHAPED(leaf.shape, self.dtype), start)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The arrays of a point, in the order in which hosts hold them."""
        return leaves_of(self.point)

    def hyper(self, dtype: Any) -> dict[str, Any]:
        """The hyperparameters as the algorithm sees them, in the precision of the host."""

        def seen(value: Any) -> Any:
            array = jnp.asarray(value)
            return array.astype(dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array

        spaces = flat_space(self.algorithm)
        flat = {name: np.asarray(self.values[name]) for name in spaces}
        with jax.ensure_compile_time_eval():  # a host may be tracing
            given = {name: flat[name].item() if space.static else seen(flat[name]) for name, space in spaces.items()}
        return nested(self.algorithm, given)

    def claims(self, *, safeguard: bool) -> tuple[str, ...]:
        """The sentences that hold for an export with or without the safeguard."""
        c = self.certificate
        held = [claim for claim in c.design.spoken if safeguard or not claim.needs_safeguard(c.design)]
        if safeguard:
            return tuple(c.sentences[claim.name] for claim in held)
        subject = replace(subject_of(c), safeguarded=False)
        return tuple(claim.sentence(c.deployed.values[claim.name], subject) for claim in held)

    def words(self, host: str, *, safeguard: bool) -> str:
        """What an export is, and what is certified about it."""
        c, kind = self.certificate, type(self.problem).__name__
        subject = subject_of(c)
        lines = self.claims(safeguard=safeguard)
        left = [claim.name for claim in c.design.claims if not safeguard and claim.needs_safeguard(c.design)]
        return "\n".join(
            [
                f"{type(self.algorithm).__name__} as learned for {kind}, {host}.",
                "",
                f"Certificate {self.identity}, for {subject.hyper}, {subject.run}.",
                f"A point of {kind} is {listed(self.leaves)}" + (", in this order." if self.leaves[1:] else "."),
                f"Covered are new instances of {kind} from the same distribution, from the start that it gives them, "
                f"after {self.steps} steps in {self.dtype}, with confidence {c.confidence!r}:",
                *(f"- {line}" for line in lines or ["Nothing: every claim of this certificate needs the safeguard."]),
                SAFEGUARD[safeguard],
                "Not covered: other problems, other starts, other numbers of steps, "
                f"another precision than {self.dtype}"
                + (f", and what needs the safeguard ({', '.join(left)})." if left else "."),
            ]
        )


def rule_of(learned: "Learned") -> Rule:
    """The deployed algorithm as a rule that can be exported; if it cannot be, the error says why."""
    engine = learned.running
    if not isinstance(engine, Traced):
        raise ExportError(
            f"The learned solver runs in {type(engine).__name__}.",
            "Only algorithms written in JAX, step by step, can be exported.",
            "Another library could not run the steps of an external program.",
            "Run that program directly, with learned.hyper.",
        )
    algorithm, problem = engine.algorithm, engine.problem
    name = type(algorithm).__name__
    if isinstance(algorithm, AbstractStochasticAlgorithm):
        raise ExportError(
            f"{name} draws random numbers.",
            "Only algorithms that draw none can be exported.",
            "The certificate holds for seeds that pacopt derives from the instance.",
            "Use learned.solve(instance).",
        )
    if isinstance(problem, AbstractProximable):
        raise ExportError(
            f"{type(problem).__name__} has a part with a proximal map.",
            "Other libraries supply only losses and gradients, and cannot use such a map.",
            "Without it, a different function would be minimised.",
            "Use learned.solve(instance).",
        )
    if engine.goal is not None:
        raise ExportError(
            "The certificate is about how many steps a run takes to its target, where it stops.",
            "An export makes all steps of a run.",
            "Other libraries do not know the target.",
            "Use learned.solve(instance), or learn without Effort.",
        )
    return Rule(algorithm, problem, learned.hyper, engine.length, engine.precision, learned.certificate, learned.origin)


def leaves_of(point: Point) -> tuple[Leaf, ...]:
    """The arrays of a point."""
    found = jax.tree_util.tree_leaves_with_path(point)
    return tuple(
        Leaf(jax.tree_util.keystr(path, simple=True, separator="."), tuple(np.shape(leaf))) for path, leaf in found
    )


def _horizon(algorithm: Any) -> int | None:
    """The steps a rule has numbers for: its `steps`, or those of the rule it holds as `algorithm`."""
    own = getattr(algorithm, "steps", None)
    inner = getattr(algorithm, "algorithm", None)
    found = [each for each in (own, None if inner is None else _horizon(inner)) if isinstance(each, int)]
    return min(found, default=None)


def _instance(origin: Origin) -> dict[str, Any]:
    """The shapes of one instance."""
    found = {}
    for name, text in origin.fields.items():
        kind, _, shape = text.partition("[")
        sizes = [int(each) for each in shape.rstrip("]").split(",") if each.strip()]
        found[name] = np.zeros(sizes, kind)
    return found
