"""What code a process has: package versions, and hashes of pacopt's files and the user's own."""

import os
import platform
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import metadata
from typing import NamedTuple

from pacopt._version import __version__
from pacopt.engines.description import hashed
from pacopt.engines.packing import Packed
from pacopt.support.own_code import HERE, file_hash, file_of

#: What every table depends on.
ALWAYS = ("numpy", "scipy")
#: What one in JAX depends on.
OF_JAX = ("equinox", "jax", "jaxlib")


#: JAX settings that change random numbers or rounding.
SETTINGS = ("jax_threefry_partitionable", "jax_default_prng_impl", "jax_default_matmul_precision")


class Names(NamedTuple):
    """What is compared: installed packages, and the user's own modules."""

    packages: tuple[str, ...]
    modules: tuple[str, ...]


def names_of(parcel: Packed) -> Names:
    """What packed code depends on."""
    found, own = parcel.modules, {name for name, _ in parcel.own if file_of(name)}
    tops = {name.partition(".")[0] for name in found}
    packages = {package for top in tops for package in _installed().get(top, [])}
    traced = "jax" in tops or any(name.startswith("pacopt.engines.traced") for name in found)
    packages |= {*ALWAYS, *(OF_JAX if traced else ())}
    return Names(tuple(sorted(packages - {"pacopt"})), tuple(sorted(own)))


@cache
def _installed() -> Mapping[str, list[str]]:
    """The packages that modules come from."""
    return metadata.packages_distributions()


def versions(names: Names) -> dict[str, str]:
    """The versions of all these in this process; files are checked each time."""
    found = {**_packages(names), **{name: _hash(name) for name in names.modules}}
    if "jax" in names.packages:
        import jax

        found |= {name: str(getattr(jax.config, name)) for name in SETTINGS}
    return found


@lru_cache(maxsize=16)
def _packages(names: Names) -> Mapping[str, str]:
    found = {"Python": platform.python_version(), "pacopt": f"{__version__} ({_pacopt()})"}
    if "jax" in names.packages:  # which changes rounding
        found["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") or "empty"
    return found | {name: _version(name) for name in names.packages}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _hash(module: str) -> str:
    """The hash of the file where Python would find it; nothing is imported but its parent packages."""
    file = file_of(module)
    return f"with the hash {file_hash(file)[:12]}" if file else "not found"


def _pacopt() -> str:
    """A hash of pacopt's files: between two releases, many versions share one number."""
    files = sorted(HERE.rglob("*.py"))
    return hashed(b"".join(str(file.relative_to(HERE)).encode() + file.read_bytes() for file in files))[:12]
