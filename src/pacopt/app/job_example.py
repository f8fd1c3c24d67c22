"""A working job file, with the code and the data that it names."""

from pathlib import Path

import numpy as np

from pacopt.errors import JobError
from pacopt.support.arrays import save_npz

JOB = """\
# A job for pacopt. Run it:  pacopt learn {name}
# Paths and modules are looked up beside this file. Lines that are commented out are optional.

problem = "{module}:LeastSquares"     # module:Name of your code, or a built-in such as DiagonalQuadratic
algorithm = "HeavyBall"                 # GradientDescent, Nesterov, ScalarRule and others, or module:Name
instances = "{data}"          # arrays with a common leading axis, one problem per row
steps = 5                               # steps of the algorithm on each instance

confidence = 0.99                       # the confidence of the certificate
min_success = 0.95                      # the success probability to certify; leave it out if any will do
# target_ratio = 1.0                    # a run succeeds if its final loss is at most this times its start loss
# success = "{module}:solved"         # ... or if this function of the final point and the instance says so
# score = "ratio"                       # what is averaged: "ratio", "rate" (per step), "digits", {{ effort = 0.1 }}
# baseline = "textbook"                 # what a gain is claimed over: "none", or {{ step_size = 0.1, ... }}
# budget = [0.1, 0.001]                 # claims how many reach these fractions of their start within how many steps
# objective = "risk"                    # the claim to optimise
# quantile_level = 0.9                  # "at least 90 % of instances end at a ratio of at most ..."
# seed = 0                              # of the split and the search; the same seed gives the same result
# candidates = 256                      # hyperparameters tried on all training instances
# solver = "{module}:solve"           # instead of problem, algorithm and steps, which go then: any function of
#                                       # hyperparameters and an instance; [domain] is its space
# defaults = {{ step_size = 0.02, momentum = 0.5 }}  # its usual hyperparameters, over which a gain is claimed
# workers = 2                           # processes that run the solver side by side
# limit = 10.0                          # seconds after which a run of the solver is stopped
# memory = 4.0                          # GiB that a worker may use
# engine = "module:Name"                # an engine that you have written, instead of problem, algorithm and steps
# groups = "name"                       # the array of yours that says which rows belong together: a draw is a group
# replicates = 1                        # runs of each instance, for an algorithm that draws random numbers
# racing = false                        # true: drop hopeless candidates early; pays with thousands of them
# precision = "float64"                 # or "float32"
# curvature = [1.0, 100.0]              # [mu, L] for the textbook hyperparameters, which become a candidate and
#                                       # widen the search domain; never from training instances
# shared = "name.npz"                   # a file of yours with data shared by all instances: fields of the problem

[split]                                 # leave it out for the recommended one; pacopt plan says what sizes can certify
prior = 200                             # to find candidates
train = 1000                            # to certify them: the more, the tighter
test = 200                              # to check the result
# allow_duplicates = false              # true: equal rows are separate draws, all kept; remove copies of one draw

[domain]                                # where to search; a hyperparameter left out has the algorithm's domain
step_size = {{ low = 1e-6, high = 1.0, log = true }}
momentum = [0.0, 1.0]

# [training]                            # for rules of many numbers, such as ScalarRule, instead of [domain], candidates
# updates = 3000                        # of Adam, by gradients through whole runs
# batch = 64                            # instances of the prior split in each update
# rate = 0.01                           # the first learning rate
# restarts = 2                          # starts, of which the best continues
# held_out = 0.25                       # the part of the prior split that chooses the candidates
# candidates = 16                       # how many to certify
# clip = 1.0                            # the norm at which the gradient of a run is clipped
# logs = 0.2                            # the weight of the mean log ratio beside the mean ratio
# precision = "float32"                 # of updates; halves their time

# [absolute]                            # for a bound on the mean loss itself, which needs a declaration
# level = 100.0                         # no start loss is larger than this ...
# second_moment = 500.0                 # ... or: the mean squared start loss is at most this
"""

MODULE = '''\
"""The problem that {name} learns to solve: replace it with yours."""

import jax.numpy as jnp
import numpy as np

import pacopt


class LeastSquares(pacopt.AbstractProblem):
    """1/2 |A x - b|^2; the instances hold A and b."""

    def start(self, instance):
        """The point from which every run starts."""
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        """The loss to minimise over x; gradients are computed for you."""
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def solved(x, instance):
    """Your own success criterion: the residual is below a tenth of |b|."""
    residual = instance["A"] @ x - instance["b"]
    return jnp.sum(residual**2) <= 0.01 * jnp.sum(instance["b"] ** 2)


def solve(hyper, instance):
    """A solver without JAX, for the line `solver` of the job: here heavy-ball in NumPy, but any code will do."""
    A, b = instance["A"], instance["b"]
    x = before = np.zeros(A.shape[1])
    for _ in range(5):
        x, before = x - hyper["step_size"] * (A.T @ (A @ x - b)) + hyper["momentum"] * (x - before), x
    return pacopt.Result(loss=0.5 * np.sum((A @ x - b) ** 2), start_loss=0.5 * np.sum(b**2))
'''


def write_example(path: Path) -> list[Path]:
    """Write an example: the job at this path, with its code and data beside it. Nothing is overwritten."""
    if not path.name or path.is_dir():
        raise JobError(
            f"{str(path)!r} is a directory.", "A job is a file.", "", f"Use pacopt learn --init {path / 'job.toml'}."
        )
    module = path.with_name("my_problem.py")
    data = path.with_name("my_instances.npz")
    existing = [file for file in (path, module, data) if file.exists()]
    if existing:
        raise JobError(
            f"{existing[0]} already exists.",
            f"The example is written to {path.name}, {module.name} and {data.name}, which must not exist.",
            "Nothing is overwritten.",
            "Name another place: pacopt learn --init other/job.toml.",
        )
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1400, 15, 10))
    b = A @ rng.normal(size=10) + 0.1 * rng.normal(size=(1400, 15))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_npz(data, {"A": A, "b": b})
        module.write_text(MODULE.format(name=path.name), encoding="utf-8")
        path.write_text(JOB.format(name=path.name, module=module.stem, data=data.name), encoding="utf-8")
    except OSError as error:
        raise JobError(
            f"{path.parent}: {error}.", "The example needs a place to be written.", "", "Name another."
        ) from error
    return [path, module, data]
