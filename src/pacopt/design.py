"""Everything that has to be fixed before the training instances are looked at, as one frozen and hashed value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pacopt.aliases import with_earlier_attributes
from pacopt.bounds.absolute import Truncation
from pacopt.bounds.grids import Grid
from pacopt.bounds.informed import FAVOURITE, best_fraction, informed_grid, informed_weights, tempered
from pacopt.claims import ALL, AbstractClaim, Shares, claim_from_dict, compared_claims, standard_claims
from pacopt.claims.checking import check_name, check_shares, settled
from pacopt.claims.standard import adjusted
from pacopt.errors import DesignError, correction
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import ALL as SCORES
from pacopt.scores import AbstractScore, Ratio
from pacopt.sources import Sources
from pacopt.support.arrays import digest
from pacopt.support.numbers import is_real
from pacopt.support.values import marked


class Seeding(NamedTuple):
    """The seed from which the random numbers of runs and the leading rows of groups are drawn, and the number of runs
    of each instance that are averaged.
    """

    root: int
    replicates: int = 1


def default_t_grid() -> Grid:
    """t = 1 - exp(-a) with 24 values of a in equal ratios from 0.01 to 6, equal weights."""
    return Grid.uniform(-np.expm1(-np.geomspace(0.01, 6.0, 24)))


@with_earlier_attributes
@dataclass(frozen=True, eq=False, init=False)
class Design:
    """Candidates and weights, the t-grid, the definitions of success and score, the claims, and what it was made from.

    `claims` are the statements to make. The first is the objective: among the candidates that meet the requirements,
    the one with its best number is deployed. By default these are risk, success and quantile, and with a `truncation`
    the absolute loss; `quantile_level`, `shares` and `truncation` are short for these claims with other settings.
    """

    prior: DiscreteMeasure
    t_grid: Grid
    target_ratio: float
    claims: tuple[AbstractClaim, ...]
    score: AbstractScore
    sources: Sources | None
    seeding: Seeding | None

    def __init__(
        self,
        prior: DiscreteMeasure,
        t_grid: Grid | None = None,
        target_ratio: float = 1.0,
        quantile_level: float | None = None,
        shares: Shares | None = None,
        truncation: Truncation | None = None,
        *,
        claims: Sequence[AbstractClaim] | None = None,
        score: AbstractScore | None = None,
        sources: Sources | None = None,
        seeding: Seeding | None = None,
    ) -> None:
        _check_kinds(prior, t_grid, score, claims)
        check_target_ratio(target_ratio)
        if claims is None:
            level = 0.9 if quantile_level is None else quantile_level
            made = standard_claims(quantile_level=level, truncation=truncation, shares=shares)
        else:
            made = adjusted(claims, quantile_level, truncation, shares)
        _check_claims(made)
        made = tuple(settled(claim) for claim in made)
        values = {
            "prior": prior,
            "t_grid": default_t_grid() if t_grid is None else t_grid,
            "target_ratio": float(target_ratio),
            "claims": made,
            "score": Ratio() if score is None else score,
            "sources": sources,
            "seeding": seeding,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def objective(self) -> AbstractClaim:
        """The claim that is optimised."""
        return self.claims[0]

    @property
    def spoken(self) -> tuple[AbstractClaim, ...]:
        """The claims in the order of their sentences."""
        return tuple(sorted(self.claims, key=lambda claim: not (claim.leading and type(claim) in ALL)))

    def __getitem__(self, name: str) -> AbstractClaim:
        """The claim of this name."""
        for claim in self.claims:
            if claim.name == name:
                return claim
        known = [claim.name for claim in self.claims]
        raise DesignError(
            f"There is no claim {name!r} in the design.",
            f"Its claims are {', '.join(known)}.",
            "",
            correction(str(name), known),
        )

    def __contains__(self, name: object) -> bool:
        return any(claim.name == name for claim in self.claims)

    @staticmethod
    def uniform(table: LossTable, **options: Any) -> "Design":
        """Equal weights on the candidates of a table, which must have been chosen without its instances.

        A gain over the baselines of the table is claimed too, unless you pass claims or shares.
        """
        return Design(DiscreteMeasure.uniform(table.candidates), **_over_baselines(table, options))

    @staticmethod
    def informed(prior_table: LossTable, *, train: int, epsilon: float = 0.01, **options: Any) -> "Design":
        """Weights and t-grid from a table of the same candidates on the prior split, for `train` training instances.

        Half of the weight goes to the candidate with the smallest mean score, 45 % to a Gibbs measure of the prior
        split (temperature 1/4, as if it had four times as many instances), 5 % is spread evenly so that no weight is 0.
        Three values of t surround the one that would be best if the training instances were like the prior ones; a few
        others share a tenth of the weight. None of this can make a certificate wrong, only loose:
        `benchmarks/tightness.py` measures it. The design remembers the columns of that table, and `certify` rejects a
        training table that shares one of them.
        """
        draft = Design(DiscreteMeasure.uniform(prior_table.candidates), **_over_baselines(prior_table, options))
        z = draft.score.of(prior_table)
        favourite = int(z.mean(axis=1).argmin())
        price = np.log(1 / (FAVOURITE * epsilon * draft.objective.share))
        best = best_fraction(z[favourite], train=train, price=price)
        prior = informed_weights(favourite, tempered(prior_table, best, draft.score))
        return draft.weighed(prior, informed_grid(best), Sources.of(prior_table))

    def weighed(self, prior: DiscreteMeasure, t_grid: Grid, sources: Sources | None) -> "Design":
        """This design with candidates, weights and betting fractions chosen on a prior split."""
        return Design(
            prior,
            t_grid,
            self.target_ratio,
            claims=self.claims,
            score=self.score,
            sources=sources,
            seeding=self.seeding,
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON value with everything in it; a candidate without weight has the log-weight null."""
        return {
            "candidates": {name: marked(values) for name, values in self.prior.support.items()},
            "claims": [claim.to_dict() for claim in self.claims],
            "log_weights": [weight if weight > -np.inf else None for weight in self.prior.log_weights.tolist()],
            "score": self.score.to_dict(),
            "seeding": None if self.seeding is None else self.seeding._asdict(),
            "sources": None if self.sources is None else self.sources.to_dict(),
            "t_grid": {"points": self.t_grid.points.tolist(), "weights": self.t_grid.weights.tolist()},
            "target_ratio": self.target_ratio,
        }

    @staticmethod
    def from_dict(value: dict[str, Any]) -> "Design":
        """The design that `to_dict` described."""
        score = dict(value["score"])
        return Design(
            DiscreteMeasure(
                value["candidates"],
                np.array([-np.inf if weight is None else weight for weight in value["log_weights"]]),
            ),
            Grid(**value["t_grid"]),
            value["target_ratio"],
            claims=[claim_from_dict(claim) for claim in value["claims"]],
            score=SCORES[score.pop("name")](**score),
            sources=None if value["sources"] is None else Sources(**value["sources"]),
            seeding=None if value["seeding"] is None else Seeding(**value["seeding"]),
        )

    @property
    def hash(self) -> str:
        """A hash of everything that was fixed."""
        return digest(self.to_dict())


def _over_baselines(table: LossTable, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a design, with claims of a gain over the baselines of a table."""
    if not table.baselines or options.get("claims") is not None or options.get("shares") is not None:
        return options
    level, truncation = options.get("quantile_level"), options.get("truncation")
    made = standard_claims(quantile_level=0.9 if level is None else level, truncation=truncation)
    rest = {name: value for name, value in options.items() if name not in ("quantile_level", "truncation", "claims")}
    return rest | {"claims": compared_claims(made, tuple(table.baselines))}


def check_target_ratio(target_ratio: Any) -> None:
    """Refuse a target ratio outside of (0, 1]."""
    if not is_real(target_ratio) or not 0 < target_ratio <= 1:
        raise DesignError(
            f"target_ratio is {target_ratio!r}.",
            "It must be above 0 and at most 1.",
            "A run that ends above its start has not succeeded in any sense the theory covers.",
            "Use 1.0 for 'does not increase the loss'.",
        )


def _check_kinds(prior: Any, t_grid: Any, score: Any, claims: Any) -> None:
    wanted = (
        ("prior", prior, DiscreteMeasure, "pacopt.DiscreteMeasure.uniform(candidates)"),
        ("t_grid", t_grid, Grid | None, "pacopt.Grid.uniform([0.1, 0.5, 0.9])"),
        ("score", score, AbstractScore | None, "pacopt.Ratio()"),
    )
    for name, value, kind, example in wanted:
        if not isinstance(value, kind):
            raise DesignError(f"{name} is {value!r}.", "It has the wrong type.", "", f"Use {example}, for example.")
    if score is not None and type(score) not in SCORES.values():
        raise DesignError(
            f"The score is a {type(score).__name__}.",
            f"Known are {', '.join(kind.__name__ for kind in SCORES.values())}.",
            "A certificate is recomputed by other code, which has no formula for another score.",
            "Put what you want to score into the losses, and use pacopt.Ranged with its largest value.",
        )
    if score is not None and score.open:
        raise DesignError(
            f"The score is {score!r}.",
            "Its number is missing.",
            "What is averaged is fixed before training instances are seen; `learn` can take it from its prior split.",
            f"Use pacopt.{type(score).__name__}(8), for example.",
        )
    if t_grid is not None and not np.all(t_grid.points < 1):
        raise DesignError(
            "A value of t is 1 or more.",
            "Each t lies between 0 and 1.",
            "1 - t z must stay positive.",
            "Correct the grid.",
        )
    if claims is not None and not (
        isinstance(claims, Sequence) and all(isinstance(claim, AbstractClaim) for claim in claims)
    ):
        raise DesignError(
            f"claims is {claims!r}.",
            "It must be a list of claims.",
            "",
            "Use [*pacopt.claims.standard_claims(), Mine()] and pacopt.claims.shared_out(...).",
        )


def _check_claims(claims: Sequence[AbstractClaim]) -> None:
    names = [f"{getattr(claim, 'name', None)}" for claim in claims]
    if not names or len(set(names)) < len(names):
        raise DesignError(
            f"The claims are {', '.join(names) or 'none'}.",
            "A certificate makes at least one claim, and each needs its own name.",
            "",
            "Rename one of them.",
        )
    for claim in claims:
        check_name(claim)
    check_shares(claims)
