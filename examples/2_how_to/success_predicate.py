"""Certify "solved to tolerance": a success criterion of your own.

By default a run succeeds if it ends at or below its start. Any function of the final point and the instance will do,
as long as it says yes or no; the probability of a yes is then what `min_success` asks for.
"""

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.statement import down  # rounding to the safe side


class LeastSquares(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def solved(x, instance):
    """Every residual is below a hundredth of the largest right-hand side."""
    residual = instance["A"] @ x - instance["b"]
    return jnp.max(jnp.abs(residual)) <= 0.01 * jnp.max(jnp.abs(instance["b"]))


rng = np.random.default_rng(0)
A = rng.normal(size=(1200, 20, 6))
instances = pacopt.Instances({"A": A, "b": np.einsum("jik,jk->ji", A, rng.normal(size=(1200, 6)))})
split = pacopt.split(instances, prior=150, train=900, test=150, seed=0)

learned = pacopt.learn(
    LeastSquares(), pacopt.HeavyBall(), split, steps=12, success=solved, min_success=0.9, confidence=0.99
)
deployed = learned.certificate.deployed
print(f"Asked for: solved with probability at least 0.9. Attained: {learned.certificate.attained}.")
print(f"Certified: solved with probability at least {down(deployed.success)},")
print(f"on the training instances {deployed.empirical_success:.4f} of them were.")
print()
print(learned.comparison)

# To have the verdicts checked too, `verify` needs the predicate: a run stores no code.
print()
print(pacopt.verify(learned.save("runs/solved"), rerun=20, success=solved, seed=0))
