"""Which modules are somebody's own code, and which belong to Python or to a package that is installed."""

import ast
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType

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
    files = {name: _located(name) for name in modules if name != "__main__"}
    return {name: file for name, file in sorted(files.items()) if file and is_own(file)}


def _located(name: str) -> str | None:
    return getattr(sys.modules[name], "__file__", None) if name in sys.modules else file_of(name)


def edited(name: str) -> bool:
    """Whether the file of a module was edited after it was imported: it was, or holds other functions, or was another.

    What is no function is compared with what the file was when this was first asked.
    """
    module = sys.modules[name]
    spec, file = module.__spec__, str(module.__file__)
    try:
        content = file_hash(file)
        first, before = _asked.setdefault(name, (spec, content))
        if first is not spec:  # it was loaded anew
            _asked[name] = (spec, content)
        elif before != content:
            return True
        if type(getattr(spec, "loader", None)) is not SourceFileLoader:
            return False  # somebody changes code while it is loaded, as pytest does
        code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return True
    written = {each.co_qualname: _content(each) for each in _codes(code)}
    functions = [value for value in vars(module).values() if inspect.isfunction(value)]
    classes = [value for value in vars(module).values() if inspect.isclass(value)]
    functions += [each for kind in classes for each in vars(kind).values() if inspect.isfunction(each)]
    own = [each.__code__ for each in functions if each.__module__ == name]
    return any(written.get(code.co_qualname, _content(code)) != _content(code) for code in own)


#: By name, where a module comes from, and the hash of its file when that was first asked for.
_asked: dict[str, tuple[object, str]] = {}


def differing(wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Those of these modules whose files have other hashes here, or are not here."""
    return [name for name, content in wanted if (file := file_of(name)) is None or file_hash(file) != content]


def file_of(module: str) -> str | None:
    """Where Python would find a module; nothing is imported but packages of the user's own around it."""
    top = module.partition(".")[0]
    try:
        spec = find_spec(top)
        if top != module and spec is not None and spec.has_location and spec.origin and is_own(spec.origin):
            spec = find_spec(module)
        elif top != module:
            return None
    except (ImportError, AttributeError, ValueError):
        return None
    return spec.origin if spec is not None and spec.has_location else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _content(code: CodeType) -> tuple[object, ...]:
    constants = [_content(each) if isinstance(each, CodeType) else _text(each) for each in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, tuple(constants)


def _text(constant: object) -> str:
    """A constant as text; the order of a set depends on the process that made it."""
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def reached(modules: Iterable[str]) -> set[str]:
    """These modules, and all that are reached from them through modules of the user's own code."""
    found: set[str] = set()
    waiting = {*modules}
    while waiting:
        name = waiting.pop()
        found.add(name)
        file = getattr(sys.modules.get("__main__"), "__file__", None) if name == "__main__" else _located(name)
        others: set[str] = set()
        if file and Path(file).suffix == ".py" and (name == "__main__" or is_own(file)):
            others = imported(file, name)
        if name == "__main__":  # of which there may be no file
            others |= {other for value in vars(sys.modules[name]).values() if (other := module_of(value))}
        waiting |= others - found
    return found


def imported(file: str, name: str) -> set[str]:
    """The modules that a file imports, wherever in it that stands."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names if is_module(f"{base}.{alias.name}"))}
    return found - {""}


def is_module(name: str) -> bool:
    """Whether that is a module of the user's own, or one that is loaded, and no other value of a package."""
    return name in sys.modules or file_of(name) is not None


def module_of(value: object) -> str | None:
    """The name of a module, or of the one that a function or class comes from."""
    if isinstance(value, ModuleType):
        return value.__name__
    if inspect.isroutine(value) or inspect.isclass(value):
        return getattr(value, "__module__", None)
    return None
