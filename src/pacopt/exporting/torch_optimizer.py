"""A torch optimizer that runs what was learned, from plain values. Nothing here needs JAX."""

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pacopt.errors import ExportError, StorageError
from pacopt.exporting.leaves import Leaf, listed, misfit, warn_of_precision
from pacopt.exporting.torch_operations import run
from pacopt.support.arrays import load_npz, save_npz

#: The name and format of a stored optimizer in its file.
NAME, SCHEMA = "optimizer", 2


class Stored(NamedTuple):
    """Programs and what is certified about them as a JSON value, and the numbers they use."""

    about: Mapping[str, Any]
    constants: Mapping[str, np.ndarray]


def load_torch(path: str | os.PathLike[str]) -> Any:
    """The class of optimizers that `learned.as_torch().save(path)` wrote; it needs torch but not JAX."""
    arrays = load_npz(path)
    try:
        about = json.loads(arrays.pop(NAME).tobytes().decode())
        known = about.pop("schema") == SCHEMA
    except (KeyError, ValueError) as error:
        raise _foreign(path) from error
    if not known:
        raise _foreign(path)
    return optimizer_class(Stored(about, arrays))


def _foreign(path: str | os.PathLike[str]) -> StorageError:
    return StorageError(
        f"{os.fspath(path)} holds no optimizer of this version.",
        "A file is needed that learned.as_torch().save(path) wrote.",
        "",
        "Export it again.",
    )


def optimizer_class(stored: Stored) -> Any:
    """A subclass of `torch.optim.Optimizer` with these programs."""
    try:
        import torch
    except ImportError as error:
        raise ExportError(
            "torch cannot be imported.", "It runs what is exported to it.", "", "Install pacopt[torch]."
        ) from error
    about = stored.about
    leaves = tuple(Leaf(name, tuple(shape)) for name, shape in about["leaves"])
    numbers = {name: torch.as_tensor(np.array(array)) for name, array in stored.constants.items()}

    class LearnedOptimizer(torch.optim.Optimizer):
        """Replaced by what is known about this optimizer."""

        __doc__ = about["words"] + "\n\n" + _use(about)
        certificate: str = about["certificate"]
        claims: tuple[str, ...] = tuple(about["claims"])
        updates: int = about["updates"]
        _complete = False

        def __init__(self, params: Any) -> None:
            super().__init__(params, {})
            self._complete = True
            _check_point([tuple(each.shape) for each in self._parameters], leaves)
            warn_of_precision((str(each.dtype) for each in self._parameters), about["dtype"])

        def add_param_group(self, param_group: Any) -> None:
            """Used by torch for the initial parameters; no others can be added."""
            if self._complete:
                raise ExportError(
                    "A group of parameters is added.",
                    "A point has all its numbers from the start.",
                    "The rule was learned for a problem whose points have so many.",
                    f"Pass all parameters at once: {listed(leaves)}.",
                )
            super().add_param_group(param_group)

        @staticmethod
        def save(path: str | os.PathLike[str]) -> None:
            """Write it to a file that `pacopt.load_torch` reads: plain numbers and texts."""
            text = json.dumps({**about, "schema": SCHEMA}, sort_keys=True)
            save_npz(path, {**stored.constants, NAME: np.frombuffer(text.encode(), dtype=np.uint8)})

        @torch.no_grad()  # type: ignore[untyped-decorator]
        def step(self, closure: Any = None) -> Any:
            """Use the gradient at the parameters, and move them to where the next one is wanted."""
            memory = self._memory
            _check_number(about, memory)
            value = None
            if closure is not None:
                with torch.enable_grad():
                    value = closure()
                _number(value)
            if all(each.grad is None for each in self._parameters):
                raise ExportError(
                    "No parameter has a gradient.",
                    "A step uses the gradient at the parameters.",
                    "",
                    "Call loss.backward() before step(), or within the closure.",
                )
            x, first = self._point(), memory["taken"] == 0
            if first:
                memory["start"] = x
                memory["start_loss"] = None if value is None else _number(value)
                if not any(about["asks"]["begin"]):
                    memory["state"] = self._run("begin", x)
            answers = {name: self._answers(name, value) for name in ("begin", "step")}
            if first and any(about["asks"]["begin"]):
                memory["state"] = self._run("begin", [*x, *answers["begin"]])
            if not (first and about["asks"]["begin"][1]):
                memory["state"] = self._run("step", [*self._state(), *answers["step"]])
            memory["taken"] += 1
            self._move(self._run("where", self._state()))
            return value

        def finish(self, closure: Any) -> float:
            """End the run: move to the point that the certificate speaks of, with the safeguard; the loss there."""
            memory = self._memory
            if memory["taken"] < about["updates"]:
                text = f"The certificate speaks of {about['updates']} steps, and this run ends after {memory['taken']}"
                warnings.warn(f"{text}: it is not covered.", stacklevel=2)
            if memory["taken"] == 0:
                return _number(closure())
            memory["finished"] = True
            if memory["start_loss"] is None:
                self._move(memory["start"])
                memory["start_loss"] = _number(closure())
            self._move(self._run("read", self._state()))
            loss = _number(closure())
            # A NaN is not finite, and would pass the second comparison if it were reversed.
            if about["safeguard"] and not (np.isfinite(loss) and loss <= memory["start_loss"]):
                self._move(memory["start"])
                return float(memory["start_loss"])
            return loss

        @property
        def _parameters(self) -> list[Any]:
            return [each for group in self.param_groups for each in group["params"]]

        @property
        def _memory(self) -> dict[str, Any]:
            found: dict[str, Any] = self.state[self._parameters[0]]
            for name, first in (("taken", 0), ("finished", False)):
                found.setdefault(name, first)
            return found

        def _state(self) -> list[Any]:
            kinds = [getattr(torch, each) for each in about["types"]]
            return [each.to(kind) for each, kind in zip(self._memory["state"], kinds, strict=True)]

        def _run(self, name: str, values: list[Any]) -> list[Any]:
            device = self._parameters[0].device
            for each, array in numbers.items():
                numbers[each] = array.to(device)
            with device:
                return run(about["programs"][name], values, numbers)

        def _point(self) -> list[Any]:
            return self._parted([each.detach() for each in self._parameters])

        def _parted(self, tensors: list[Any]) -> list[Any]:
            """The arrays of a point, in the precision of the rule."""
            flat = torch.cat([each.reshape(-1) for each in tensors]).to(getattr(torch, about["dtype"]))
            parts = flat.split([leaf.size for leaf in leaves])
            return [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]

        @torch.no_grad()  # type: ignore[untyped-decorator]
        def _move(self, x: list[Any]) -> None:
            parts = torch.cat([each.reshape(-1) for each in x]).split([each.numel() for each in self._parameters])
            for parameter, part in zip(self._parameters, parts, strict=True):
                parameter.copy_(part.reshape(parameter.shape))

        def _answers(self, name: str, value: Any) -> list[Any]:
            asks, found = about["asks"][name], []
            if asks[0]:
                if value is None:
                    raise ExportError(
                        "step was called without a closure.",
                        f"{about['algorithm']} uses the loss at the parameters.",
                        "",
                        "Call step(closure), where closure computes the loss, calls backward and returns the loss.",
                    )
                found.append(torch.as_tensor(value).detach().to(getattr(torch, about["dtype"])).reshape(()))
            if asks[1]:
                found += self._parted([torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters])
            return found

    return LearnedOptimizer


def _check_point(shapes: list[tuple[int, ...]], leaves: tuple[Leaf, ...]) -> None:
    """Refuse parameters that are neither the arrays of a point nor one vector of all their numbers."""
    total = sum(leaf.size for leaf in leaves)
    if shapes not in ([leaf.shape for leaf in leaves], [(total,)]):
        raise misfit(
            f"The parameters have the shapes {', '.join(str(list(each)) for each in shapes)}.",
            f"They are {listed(leaves)}" + (", in this order" if leaves[1:] else "") + f"; or one of [{total}] with all"
            " numbers, one array after another, row by row.",
        )


def _number(loss: Any) -> float:
    if loss is None:
        raise ExportError("The closure returns None.", "It returns the loss.", "", "Write return loss at its end.")
    return float(loss.detach() if hasattr(loss, "detach") else loss)


def _use(about: Mapping[str, Any]) -> str:
    closure = "closure" if any(asks[0] for asks in about["asks"].values()) else ""
    after = (
        "A further step is refused: it has no numbers for it."
        if about["last"] is not None
        else "Further steps go on as before with a warning, and are not covered."
    )
    end = ", with the safeguard" if about["safeguard"] else ""
    total = sum(Leaf(name, tuple(shape)).size for name, shape in about["leaves"])
    return (
        f"Parameters are these arrays as tensors, in this order, or one tensor of the shape [{total}] with the numbers "
        "of one array after another, row by row. "
        f"A run is {about['updates']} calls of step({closure}), then finish(closure), which moves the parameters to "
        f"the point that the certificate speaks of{end}. {after}"
    )


def _check_number(about: Mapping[str, Any], memory: Mapping[str, Any]) -> None:
    last, updates, taken = about["last"], about["updates"], memory["taken"]
    if memory["finished"]:
        raise ExportError(
            "step was called after finish.",
            f"A run is {updates} steps, and then finish.",
            "The parameters are not where the next gradient is wanted.",
            "Make a new optimizer for a new run, and call finish at the end of it.",
        )
    if last is not None and taken >= last:
        raise ExportError(
            f"Step {taken + 1} is asked for, and {about['algorithm']} has numbers for {last}.",
            f"A certified run has {updates}.",
            "What it should do after the last one was not learned.",
            "Call finish(closure), or learn it with more steps.",
        )
    if taken == updates:
        warnings.warn(f"The certificate speaks of {updates} steps and does not cover what comes now.", stacklevel=3)
