"""What is sent to another process: pickled with code the other side may lack, and with its module names."""

import io
import sys
from dataclasses import dataclass
from typing import Any

from pacopt.errors import EngineError
from pacopt.support.own_code import edited, file_hash, module_of, own_files, reached


@dataclass(frozen=True, slots=True)
class Packed:
    """A value as bytes, the names of the modules needed to unpack it, and hashes of the user's own modules.

    What is packed by name means something else once the file of its module has been edited.
    """

    content: bytes
    modules: frozenset[str]
    own: tuple[tuple[str, str], ...]


def packed(value: Any, what: str) -> Packed:
    """The value, packed; unchanged if it is packed already."""
    if isinstance(value, Packed):
        return value
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError as error:
        raise EngineError(
            "Workers need the package cloudpickle, which is not installed.",
            "It is in the extra [workers].",
            "",
            'pip install "pacopt[workers]"',
        ) from error

    class Packer(cloudpickle.Pickler):
        """Notes the modules of everything it pickles."""

        def persistent_id(self, part: Any) -> None:
            if isinstance(part, Packed):
                modules.update(part.modules)
            elif name := module_of(part):
                modules.add(name)

    modules: set[str] = set()
    content = io.BytesIO()
    try:
        Packer(content).dump(value)
    except Exception as error:
        raise EngineError(
            f"{what} cannot be sent to a worker: {type(error).__name__}: {error}.",
            "It is pickled, with everything it refers to.",
            "Open files, locks and compiled models cannot be.",
            "Make them inside a function, or put it into a module that workers can import.",
        ) from error
    found = frozenset(reached(modules))
    own = {name: file_hash(file) for name, file in own_files(found).items()}
    for name in own:
        if name in sys.modules and edited(name):
            raise EngineError(
                f"The file of the module {name!r} was edited after the module was imported.",
                "Workers run the code in the file.",
                "This process would run different code.",
                f"Restart Python, or call importlib.reload({name}) and make the engine again.",
            )
    return Packed(content.getvalue(), found, tuple(own.items()))
