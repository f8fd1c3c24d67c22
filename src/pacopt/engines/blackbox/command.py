"""Any program of the command line as a solver."""

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from pacopt.errors import EngineError
from pacopt.support.arrays import save_npz

#: How many letters are kept of what a program says when it fails.
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Command:
    """A program that takes hyperparameters as arguments, and a function that reads what it prints.

    `{name}` is replaced by the value of a hyperparameter, or of a number in the instance. `{file}` is the instance
    itself if that is a file, else a file with all of its arrays, written by `write(path, instance)` (npz by default).
    `parse(output)` returns a loss or a `Result`. The program runs in an empty directory of its own. If its exit code is
    not 0, the run has failed.

    >>> from pacopt import BlackBox, Instances, Interval
    >>> program = Command("awk 'BEGIN {{ print {x} * {damping} }}'", parse=float)
    >>> engine = BlackBox(program, {"damping": Interval(0.1, 0.9)})
    >>> engine.table({"damping": [0.5]}, Instances({"x": np.array([1.0, 3.0])})).losses
    array([[0.5, 1.5]])
    """

    template: str
    parse: Callable[[str], Any]
    write: Callable[[Path, Mapping[str, Any]], None] | None = None

    def __post_init__(self) -> None:
        """Refuse invalid commands."""
        if not isinstance(self.template, str) or not self.template.strip() or not callable(self.parse):
            raise EngineError(
                f"The command is {self.template!r}, and its output is read by {self.parse!r}.",
                "A command is a string, and a function turns its output into a loss or a Result.",
                "",
                'Use Command("solver --tol {tol} {file}", parse=float).',
            )

        try:
            names = [name for _, name, _, _ in Formatter().parse(self.template)]
            shlex.split(self.template)
        except ValueError as error:
            names, wrong = [], f": {error}"
        else:
            odd = [name for name in names if name is not None and not name.isidentifier()]
            wrong = f", where {{{odd[0]}}} names nothing" if odd else ""
        if wrong:
            raise EngineError(
                f"The command is {self.template!r}{wrong}.",
                "Quotes come in pairs, and braces hold the name of a value.",
                "",
                "Write {{ and }} for braces meant for the program.",
            )

    def __call__(self, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Any:
        """Run the program once."""
        wanted = {name for _, name, _, _ in Formatter().parse(self.template) if name}
        with tempfile.TemporaryDirectory() as place:
            values = {name: np.asarray(value).item() for name, value in instance.items() if np.ndim(value) == 0}
            values |= dict(hyper)
            if "file" in wanted and "file" not in values:
                values["file"] = str(Path(place) / "instance.npz")
                (self.write or _as_npz)(Path(values["file"]), instance)
            unknown = sorted(wanted - values.keys())
            if unknown:
                raise EngineError(
                    f"The command has {{{unknown[0]}}}, but there is no such value.",
                    f"The values are {', '.join(sorted(values))}, and file.",
                    "",
                    "Name a hyperparameter, or a field of the instance that is a single number.",
                )
            arguments = [part.format(**values) for part in shlex.split(self.template)]
            ended = subprocess.run(
                arguments, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
        if ended.returncode != 0:
            said = (ended.stderr or ended.stdout).strip()[-LONGEST:]
            raise RuntimeError(f"exit code {ended.returncode}: {said}")
        return self.parse(ended.stdout)


def _as_npz(path: Path, instance: Mapping[str, Any]) -> None:
    save_npz(path, {name: np.asarray(value) for name, value in instance.items()})
