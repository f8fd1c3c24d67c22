"""What a check says if something does not hold."""

from collections.abc import Iterator
from contextlib import contextmanager


class CheckError(AssertionError):
    """Something that pacopt relies on does not hold for the checked object."""


def need(holds: object, text: str) -> None:
    """Raise unless something holds."""
    if not holds:
        raise CheckError(text)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Whatever is raised inside is a check that failed, with what was being done."""
    try:
        yield
    except CheckError:
        raise
    except Exception as error:
        raise CheckError(f"{what} raised {type(error).__name__}: {error}") from error
