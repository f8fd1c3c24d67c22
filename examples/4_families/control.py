"""Your own quadratic programs: a rho for each kind of constraint, and how many iterations that saves over OSQP.

A cart must come to rest at the origin, and its controller solves a quadratic program for every state: position, speed
and force over the next eight steps. P and A are always the same; an instance holds q, l and u. Replace them with yours,
and you are done. The family of docs/families/control.md is made in the same way. It
needs `pip install "pacopt[solvers]"`.
"""

import numpy as np

import pacopt

AHEAD, CAP = 8, 150

# The variables: position and speed now and at the next eight steps, then eight forces. The constraints: the dynamics
# (equations), then the bounds of each variable.
follows, force = np.array([[1.0, 0.2], [0.0, 1.0]]), np.array([[0.02], [0.2]])
later = np.eye(AHEAD + 1, k=-1)
dynamics = np.hstack([np.kron(later, follows) - np.eye(2 * (AHEAD + 1)), np.kron(later[:, :AHEAD], force)])
P = np.diag([*[1.0, 0.1] * (AHEAD + 1), *[0.01] * AHEAD])
A = np.vstack([dynamics, np.eye(len(P))])
bounds = np.array([*[np.inf, 0.4] * (AHEAD + 1), *[1.0] * AHEAD])
kinds = [0] * len(dynamics) + [1, 2] * (AHEAD + 1) + [3] * AHEAD

# --8<-- [start:data]
rng, count = np.random.default_rng(0), 650
now = np.zeros((count, len(dynamics)))
now[:, :2] = rng.uniform(-1, 1, (count, 2)) * [2.0, 0.4]
instances = pacopt.Instances(
    {
        "q": np.zeros((count, len(P))),
        "l": np.hstack([-now, np.tile(-bounds, (count, 1))]),
        "u": np.hstack([-now, np.tile(bounds, (count, 1))]),
    }
)
# --8<-- [end:data]

# --8<-- [start:learn]
problem = pacopt.QuadraticProgram.of(P, A, l=instances[0]["l"], u=instances[0]["u"], eps_abs=1e-4, eps_rel=1e-4)
solver = pacopt.engines.osqp(
    lambda instance: (P, instance["q"], A, instance["l"], instance["u"]),
    settings={"check_termination": 1, "eps_abs": 1e-4, "eps_rel": 1e-4},
)
learned = pacopt.learn(
    problem,
    pacopt.ADMM(kinds),
    pacopt.split(instances, prior=40, train=600, test=10, seed=0),
    steps=CAP,
    score=pacopt.Effort("solved", CAP, unit="iterations"),
    prior=pacopt.priors.Search({}, 12, 1, 4),
    budget={"solved": 0.9},
    baseline={"OSQP": pacopt.Baseline(engine=solver)},
)
print(learned.certificate)
# --8<-- [end:learn]
print({name: np.round(value, 4).tolist() for name, value in learned.hyper.items()})
