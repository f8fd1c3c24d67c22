"""Looks up what a job file names: classes and functions in their modules, arrays in their files."""

import importlib
import inspect
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from pacopt.app.job_file import Job, Mistake
from pacopt.app.job_words import in_job_words
from pacopt.bounds.absolute import Truncation
from pacopt.engines.base import AbstractEngine
from pacopt.errors import PacoptError, suggest, suggest_file
from pacopt.instances import Instances
from pacopt.splits import split
from pacopt.support.arrays import load_npz
from pacopt.support.rounding import counted
from pacopt.support.sizes import FEWEST, recommended_split

#: Fields of a class that the job says by a key of the same name.
TOLD = ("steps",)
#: Letters that make a pattern of a name.
PATTERN = "*?["


@dataclass(frozen=True, slots=True)
class Lookup:
    """Looks up what a job names, and notes what cannot be found."""

    job: Job
    mistakes: list[Mistake]

    def note(self, key: str, text: str) -> None:
        """Remember a mistake."""
        self.mistakes.append(Mistake(key, text))

    def named(self, key: str) -> Any:
        """The object that `module:name` refers to; None if nothing is named or found."""
        reference = self.job.top[key]
        if reference is None:
            return None
        module, _, name = reference.partition(":")
        if module.endswith(".py"):
            self.note(key, f"is {reference!r}; a module goes without the ending: {module.removesuffix('.py')}:{name}")
            return None
        try:
            found: Any = importlib.import_module(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's module raises
            self.note(key, _import_failure(module, error, self.job.path.parent))
            return None
        for part in name.split("."):
            known = [each for each in vars(found) if not each.startswith("_")] if hasattr(found, "__dict__") else []
            found = getattr(found, part, None)
            if found is None:
                self.note(key, f"{module} has no {name!r}; {suggest(part, known)}")
                return None
        return found

    def made(self, key: str, base: type, builtin: Mapping[str, type], arrays: Mapping[str, np.ndarray]) -> Any:
        """A problem or an algorithm: the object named, or one of the class named with these fields.

        A class that has to know the number of steps is told that of the job.
        """
        reference = self.job.top[key]
        if reference is None:
            return None
        if ":" not in reference:
            if reference not in builtin:
                usable = [name for name, kind in builtin.items() if key == "problem" or not self._lacking(kind, {})]
                hint = suggest(reference, usable)
                self.note(key, f'there is no built-in {reference!r}; {hint} Your own is "module:Name"')
                return None
            found: Any = builtin[reference]
        else:
            found = self.named(key)
        if found is None or (isinstance(found, base) and not arrays):
            return found
        if isinstance(found, base):
            self.note("shared", f"{reference} is already an object; name its class to construct it with these fields")
            return None
        if base is not AbstractEngine and _is_engine(found):
            self.note(key, f'{reference} is an engine; write engine = "{reference}" instead of problem and algorithm')
            return None
        if not (isinstance(found, type) and issubclass(found, base)):
            self.note(key, f"{reference} is {_kind(found)}; it must be derived from pacopt.{base.__name__}")
            return None
        return self._instance(key, found, arrays)

    def _instance(self, key: str, kind: type, arrays: Mapping[str, np.ndarray]) -> Any:
        known = {field.name: field for field in fields(kind)} if is_dataclass(kind) else {}
        lacking = self._lacking(kind, arrays)
        told = {name: self.job.top[name] for name in TOLD if name in known and name not in arrays}
        told = {name: value for name, value in told.items() if _required(known[name])}
        surplus = [name for name in arrays if name not in known]
        for name in surplus:
            self.note("shared", f"{kind.__name__} has no field {name!r}; {suggest(name, known)}")
        unwritten = sorted(getattr(kind, "__abstractmethods__", ()))
        if unwritten:
            self.note(key, f"{kind.__name__} lacks {', '.join(unwritten)}")
        if surplus or unwritten:
            return None
        try:
            return kind(**told, **{name: array.item() if array.ndim == 0 else array for name, array in arrays.items()})
        except Exception as error:  # whatever the user's own class raises
            if lacking and isinstance(error, TypeError):
                remedy = (
                    'give an npz file with them as "shared", or name an object'
                    if key == "problem"
                    else f'make an object of it in your module and name that: {key} = "my_module:my_object"'
                )
                self.note(key, f"{kind.__name__} needs the fields {', '.join(lacking)}; {remedy}")
            else:
                self.note(key, f"{kind.__name__} cannot be constructed: {type(error).__name__}: {error}")
            return None

    def _lacking(self, kind: type, arrays: Mapping[str, np.ndarray]) -> list[str]:
        """The fields that an object of the class needs, and that neither the arrays nor the job say."""
        known = fields(kind) if is_dataclass(kind) else ()
        return [field.name for field in known if field.name not in {*arrays, *TOLD} and _required(field)]

    def arrays(self, key: str) -> dict[str, np.ndarray] | None:
        """The arrays of the file that a key names; None if it names none, or none that can be read."""
        name = self.job.top[key]
        if name is None:
            return None
        try:
            path = self.job.beside(name)
        except RuntimeError as error:  # ~somebody
            self.note(key, f"is {name!r}: {error}")
            return None
        try:
            return load_npz(path)
        except FileNotFoundError:
            others = [other.name for other in path.parent.glob("*.npz")] if path.parent.is_dir() else []
            hint = suggest_file(path.name, others) or "paths are relative to the job file"
            self.note(key, f"there is no file {path}; {hint}")
        except PacoptError as error:
            self.note(key, f"{error}")
        return None

    def split(self) -> Any:
        """The instances of the job, divided; None if something is wrong, which is noted."""
        groups, name = self.job.top["groups"], self.job.top["instances"]
        if name is not None and set(name) & set(PATTERN):
            return self._split(self._files(name))
        arrays = self.arrays("instances")
        if arrays is None:
            return None
        if groups is not None and groups not in arrays:
            self.note("groups", f"there is no array {groups!r} among the instances; {suggest(groups, arrays)}")
            return None
        labels = None if groups is None else arrays.pop(groups)
        for name, array in arrays.items():
            bad = _rows_with_nan(array)
            if bad:
                others = len(bad) - 1
                more = f", and so {'does' if others == 1 else 'do'} {counted(others, 'more')}" if others else ""
                remedy = (
                    f"correct or remove the row{'s' if others else ''}; for missing values, add a field with a mask"
                )
                self.note("instances", f"row {bad[0]} of {name!r} holds NaN{more}; {remedy}")
        key = "instances"
        try:
            instances = Instances(arrays)
            key = "groups"
            instances = Instances(arrays, labels)
        except PacoptError as error:
            self.note(key, in_job_words(f"{error}"))
            return None
        return self._split(instances)

    def _files(self, pattern: str) -> Instances | None:
        """The files that a pattern stands for."""
        paths = sorted(glob(str(self.job.beside(pattern)), recursive=True))
        if not paths:
            self.note("instances", f"no file matches {pattern!r}; paths are relative to the job file")
            return None
        if self.job.top["groups"] is not None:
            self.note("groups", "is the name of an array, and the instances are files; group them in Python")
        try:
            return Instances.of_files(paths)
        except PacoptError as error:
            self.note("instances", in_job_words(f"{error}"))
            return None

    def _split(self, instances: Instances | None) -> Any:
        """Some instances, divided as the job says."""
        if instances is None:
            return None
        table = self.job.tables.get("split")
        try:
            if self._too_few(instances, table or {}):
                return None
            if table is None or "train" not in table:
                sizes = recommended_split(instances.count, self.job.top["min_success"])
                table = {"prior": sizes.prior, "train": sizes.train, "test": sizes.test, **(table or {})}
            if None in table.values():
                return None
            return split(instances, **table, seed=self.job.top["seed"])
        except PacoptError as error:
            self.note("split", in_job_words(f"{error}"))
            return None

    def _too_few(self, instances: Instances, table: Mapping[str, Any]) -> bool:
        """Whether no split could have its parts, whatever its sizes; that is the fault of the instances."""
        count, what = instances.count, "row" if instances.content is None else "file"
        asked = sum(table.get(name) or 0 for name in ("prior", "train", "test"))
        if count >= FEWEST or (0 < asked <= count):
            return False
        told = counted(count, what if instances.groups is None else "group")
        self.note("instances", f"{self.job.top['instances']} holds {told}; at least {FEWEST} are needed")
        return True

    def truncation(self) -> Truncation | None:
        """What the job declares of the start loss."""
        table = self.job.tables.get("absolute")
        if table is None or table["level"] is None:
            return None
        level, moment = float(table["level"]), table["second_moment"]
        try:
            return Truncation.from_bound(level) if moment is None else Truncation.from_second_moment(level, moment)
        except PacoptError as error:
            self.note("absolute", f"{error}")
            return None


def _required(field: Any) -> bool:
    """Whether an object cannot be made without a value for this field."""
    return bool(field.init and field.default is MISSING and field.default_factory is MISSING)


def concrete(module: Any, base: type) -> dict[str, type]:
    """The classes of a package that can be made, by their names."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, type) and issubclass(value, base) and not inspect.isabstract(value)
    }


def _is_engine(value: Any) -> bool:
    return isinstance(value, AbstractEngine) or (isinstance(value, type) and issubclass(value, AbstractEngine))


def _rows_with_nan(array: np.ndarray) -> list[int]:
    if array.dtype.kind not in "fc" or not array.ndim or not array.size:
        return []
    rows: list[int] = np.flatnonzero(np.isnan(array).reshape(len(array), -1).any(axis=1)).tolist()
    return rows


def _kind(value: Any) -> str:
    return f"a class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def _import_failure(module: str, error: BaseException, folder: Path) -> str:
    """Why a module could not be imported: it is not there, or its own code fails."""
    if isinstance(error, ModuleNotFoundError) and error.name is not None and module.startswith(error.name):
        return f"there is no module {module!r}; {suggest(module, _modules(folder))} Modules belong beside the job file"
    frames = traceback.extract_tb(error.__traceback__)
    name, line = (frames[-1].filename, frames[-1].lineno) if frames else ("", None)
    if isinstance(error, SyntaxError) and error.filename:
        name, line = error.filename, error.lineno
    place = f" ({Path(name).name}, line {line})" if name else ""
    text = error.msg if isinstance(error, SyntaxError) else f"{error}"  # its text would repeat the place
    return f"importing {module} fails{place}: {type(error).__name__}: {text}"


def _modules(folder: Path) -> Iterable[str]:
    return [path.stem for path in folder.glob("*.py")]
