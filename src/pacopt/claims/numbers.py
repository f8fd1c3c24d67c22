"""The numbers of a certificate, by the names of the claims that they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacopt.aliases import OPTIONAL


@dataclass(frozen=True)
class Deployed:
    """What holds for the deployed candidate. Each number of `values` is also an attribute: `deployed.risk`.

    `values` holds each claim's number under its name, None if no finite bound exists, and numbers that
    explain these (for the mean score `empirical_risk` + `confidence_cost` + `selection_cost`).
    """

    index: int
    hyper: dict[str, Any]
    weight: float
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        return _value(self, name)

    def to_dict(self) -> dict[str, Any]:
        """A JSON value."""
        return {"hyper": self.hyper, "index": self.index, "weight": self.weight, **self.values}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Deployed":
        """What `to_dict` described."""
        values = dict(stored)
        return Deployed(values.pop("index"), values.pop("hyper"), values.pop("weight"), values)


@dataclass(frozen=True)
class Posterior:
    """What holds for a fresh candidate drawn from the posterior for each instance, claim by claim, and its weights.

    A claim that has no such form has the number None.
    """

    kl: float
    weights: tuple[float, ...]
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        return _value(self, name)

    def to_dict(self) -> dict[str, Any]:
        """A JSON value."""
        return {"kl": self.kl, "weights": list(self.weights), **self.values}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Posterior":
        """What `to_dict` described."""
        values = dict(stored)
        return Posterior(values.pop("kl"), tuple(values.pop("weights")), values)


def _value(numbers: Any, name: str) -> Any:
    values = numbers.__dict__.get("values", {})
    if name in OPTIONAL:
        return values.get(name)
    if name.startswith("__") or name not in values:
        raise AttributeError(f"There is no number {name!r}; there are {', '.join(values)}.")
    return values[name]
