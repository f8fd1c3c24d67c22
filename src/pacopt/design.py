"""Everything that has to be fixed before the training instances are looked at, as one frozen and hashed value."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pacopt.bounds.absolute import Truncation
from pacopt.bounds.grids import Grid
from pacopt.errors import DesignError
from pacopt.informed import FAVOURITE, best_fraction, informed_grid, informed_weights, tempered
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.arrays import digest
from pacopt.support.numbers import is_real


def default_t_grid() -> Grid:
    """t = 1 - exp(-a) with 24 values of a in equal ratios from 0.01 to 6, equal weights."""
    return Grid.uniform(-np.expm1(-np.geomspace(0.01, 6.0, 24)))


@dataclass(frozen=True, slots=True)
class Shares:
    """How the failure probability is divided between the statements; the sum is at most one."""

    risk: float = 0.6
    success: float = 0.2
    quantile: float = 0.2
    absolute: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative shares, none at all for a statement that is always made, and more than there is."""
        values = asdict(self)
        always = self.risk > 0 and self.success > 0 and self.quantile > 0
        if not (always and self.absolute >= 0 and sum(values.values()) <= 1 + 1e-12):
            raise DesignError(
                f"The shares of epsilon are {values}.",
                "Risk, success and quantile have positive shares, and all shares sum to at most one.",
                "Statements hold together only if their failure probabilities add up to no more than epsilon.",
                "Use the default, Shares().",
            )


@dataclass(frozen=True, eq=False)
class Design:
    """Candidates and their weights, the t-grid, target ratio, quantile level, shares of epsilon, what is declared."""

    prior: DiscreteMeasure
    t_grid: Grid = field(default_factory=default_t_grid)
    target_ratio: float = 1.0
    quantile_level: float = 0.9
    shares: Shares = Shares()
    truncation: Truncation | None = None

    def __post_init__(self) -> None:
        """Refuse values outside their ranges."""
        for name in ("target_ratio", "quantile_level"):
            value = getattr(self, name)
            if not is_real(value):
                raise DesignError(f"{name} is {value!r}.", "It is a number.", "", "Use the default.")
            object.__setattr__(self, name, float(value))
        if not isinstance(self.truncation, Truncation | None):
            raise DesignError(
                f"truncation is {self.truncation!r}.",
                "A declaration is a Truncation.",
                "It says what is known about the start loss, and why.",
                "Use pacopt.Truncation.from_second_moment(level, S2), for example.",
            )
        if not np.all(self.t_grid.points < 1):
            raise DesignError(
                "A value of t is 1 or more.", "0 < t < 1.", "1 - t z must stay positive.", "Correct the grid."
            )
        if not 0 < self.target_ratio <= 1 or not 0 < self.quantile_level < 1:
            raise DesignError(
                f"target_ratio is {self.target_ratio}, quantile_level is {self.quantile_level}.",
                "0 < target_ratio <= 1 and 0 < quantile_level < 1.",
                "A run that ends above its start has not succeeded in any sense the theory covers.",
                "Use 1.0 for 'does not increase the loss'.",
            )
        if (self.shares.absolute > 0) != (self.truncation is not None):
            raise DesignError(
                f"The absolute statement has a share of {self.shares.absolute} and the declaration {self.truncation}.",
                "It needs both a share of epsilon and a declared assumption on the start loss, or neither.",
                "Without an assumption no bound on a mean absolute loss exists (Bahadur & Savage 1956).",
                "Declare a Truncation, and for example Shares(0.4, 0.2, 0.2, 0.2); relative statements need nothing.",
            )

    @staticmethod
    def uniform(table: LossTable, **options: Any) -> "Design":
        """Equal weights on the candidates of a table, which must have been chosen without its instances."""
        return Design(DiscreteMeasure.uniform(table.candidates), **options)

    @staticmethod
    def informed(prior_table: LossTable, *, train: int, epsilon: float = 0.01, **options: Any) -> "Design":
        """Weights and t-grid from a table of the same candidates on the prior split, for `train` training instances.

        Half of the weight goes to the candidate with the smallest mean safeguarded ratio, 45 % to a Gibbs measure of
        the prior split (temperature 1/4, as if it had four times as many instances), 5 % are uniform, so that no weight
        vanishes. Three values of t surround the one that would be best if the training instances were like the prior
        ones, and a few others stand by with a tenth of the weight. None of this can make a certificate wrong, only
        loose: `benchmarks/tightness.py` measures it.
        """
        z = prior_table.safeguarded()
        favourite = int(z.mean(axis=1).argmin())
        price = np.log(1 / (FAVOURITE * epsilon * options.get("shares", Shares()).risk))
        best = best_fraction(z[favourite], train=train, price=price)
        prior = informed_weights(favourite, tempered(prior_table, best))
        return Design(prior, t_grid=informed_grid(best), **options)

    def to_dict(self) -> dict[str, Any]:
        """A JSON value with everything in it; a candidate without weight has the log-weight null."""
        return {
            "candidates": {name: values.tolist() for name, values in self.prior.support.items()},
            "quantile_level": self.quantile_level,
            "shares": asdict(self.shares),
            "t_grid": {"points": self.t_grid.points.tolist(), "weights": self.t_grid.weights.tolist()},
            "target_ratio": self.target_ratio,
            "truncation": None if self.truncation is None else asdict(self.truncation),
            "log_weights": [weight if weight > -np.inf else None for weight in self.prior.log_weights.tolist()],
        }

    @staticmethod
    def from_dict(value: dict[str, Any]) -> "Design":
        """The design that `to_dict` described."""
        return Design(
            prior=DiscreteMeasure(
                value["candidates"],
                np.array([-np.inf if weight is None else weight for weight in value["log_weights"]]),
            ),
            t_grid=Grid(**value["t_grid"]),
            target_ratio=value["target_ratio"],
            quantile_level=value["quantile_level"],
            shares=Shares(**value["shares"]),
            truncation=None if value["truncation"] is None else Truncation(**value["truncation"]),
        )

    @property
    def hash(self) -> str:
        """A hash of everything that was fixed."""
        return digest(self.to_dict())
