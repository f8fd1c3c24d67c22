"""`scipy.optimize.minimize` with any of its methods as a solver whose options are learned."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy

from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.notes import noted
from pacopt.engines.blackbox.result import Result
from pacopt.space import Domain

Instance = Mapping[str, Any]


def scipy_minimize(
    loss: Callable[[np.ndarray, Instance], float],
    start: Callable[[Instance], Any],
    space: Domain,
    *,
    method: str = "L-BFGS-B",
    gradient: Callable[[np.ndarray, Instance], Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **settings: Any,
) -> BlackBox:
    """A black box that calls `scipy.optimize.minimize`; the space holds options of the method.

    The loss must not be negative; `method` is one of SciPy's, and may be learned too, as a choice of that name.
    `defaults` are the options that you would use otherwise. Settings of the black box, such as `workers`, come last.

    >>> from pacopt import Instances, Whole
    >>> solver = scipy_minimize(
    ...     lambda x, instance: float(np.sum((x - instance["y"]) ** 4)),
    ...     lambda instance: np.zeros(2),
    ...     {"maxcor": Whole(1, 20)},
    ...     defaults={"maxcor": 10},
    ... )
    >>> solver.solve({"maxcor": 5}, {"y": np.ones(2)}, 0).x.round(1)
    array([1., 1.])
    """

    def solve(hyper: Mapping[str, Any], instance: Instance) -> Result:
        from scipy import optimize

        minimize: Any = optimize.minimize
        options = {name: value for name, value in hyper.items() if name != "method"}
        x0 = np.asarray(start(instance), dtype=float)
        curve = [float(loss(x0, instance))]
        found = minimize(
            lambda x: float(loss(x, instance)),
            x0,
            method=hyper.get("method", method),
            jac=None if gradient is None else lambda x: np.asarray(gradient(x, instance), dtype=float),
            options=options,
            callback=lambda x, *_: curve.append(float(loss(np.asarray(x), instance))),
        )
        return Result(
            loss=float(found.fun),
            start_loss=curve[0],
            iterations=int(getattr(found, "nit", len(curve) - 1)),
            success=bool(found.success),
            curve=curve,
            x=found.x,
            start=x0,
        )

    engine = BlackBox(solve, space, defaults=defaults, **settings)
    return noted(engine, "scipy", scipy.__version__, {} if "method" in space else {"method": method})
