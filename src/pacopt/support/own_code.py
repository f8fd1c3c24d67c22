"""Which modules are somebody's own code, and which belong to Python or to a package that is installed."""

import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

#: Where Python's own modules are, and pacopt's.
LIBRARY, HERE = sysconfig.get_path("stdlib"), Path(__file__).parents[1]


def is_own(file: str) -> bool:
    """Whether a file is the user's own code: it belongs neither to Python, nor to a package, nor to pacopt."""
    path = Path(file)
    foreign = {"site-packages", "dist-packages"} & {*path.parts} or path.is_relative_to(LIBRARY)
    return not foreign and path.suffix == ".py" and path.is_file() and not path.is_relative_to(HERE)


def file_hash(file: str) -> str:
    """A hash of the bytes of a file."""
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()


def own_files(modules: Iterable[str]) -> dict[str, str]:
    """The files of those of these modules that are the user's own code, by the names of the modules."""
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules if name != "__main__"}
    return {name: file for name, file in sorted(files.items()) if file and is_own(file)}


def reached(modules: Iterable[str]) -> set[str]:
    """These modules, and all that are reached from them through modules of the user's own code."""
    found: set[str] = set()
    waiting = {*modules}
    while waiting:
        name = waiting.pop()
        found.add(name)
        module = sys.modules.get(name)
        if module is not None and (name == "__main__" or own_files([name])):
            waiting |= {other for value in vars(module).values() if (other := module_of(value))} - found
    return found


def module_of(value: object) -> str | None:
    """The name of a module, or of the one that a function or class comes from."""
    if isinstance(value, ModuleType):
        return value.__name__
    if inspect.isroutine(value) or inspect.isclass(value):
        return getattr(value, "__module__", None)
    return None
