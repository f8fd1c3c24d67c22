"""Whether JAX can run in this process, and what an error of JAX itself means for a run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import jax

from pacopt.errors import EngineError, ProblemError

#: The process that used JAX first, if any has.
_users: list[int] = []
#: How JAX's message begins when a Python callback raised an error.
CALLBACK = "callback"
#: What to do about a run that fails.
NAN = "Return NaN where it fails: that run is then recorded as a failure."


def need_backend() -> None:
    """Refuse a process forked from one that had used JAX, and a platform that is not available."""
    if _users:
        if os.getpid() != _users[0]:
            raise EngineError(
                f"This process was forked after JAX had been used in process {_users[0]}.",
                "JAX runs in the process that used it first, or in one that was started anew.",
                "Its threads do not survive a fork, and it would wait for them forever.",
                'Start processes with multiprocessing.get_context("spawn").',
            )
        return
    try:
        jax.devices()
    except RuntimeError as error:
        raise EngineError(
            f"JAX cannot start: {str(error).splitlines()[0]}",
            "At least one of its platforms must be available.",
            "",
            "Unset JAX_PLATFORMS, or set it to cpu.",
        ) from error
    _users.append(os.getpid())


@contextmanager
def errors_explained(where: str, remedy: str = NAN) -> Iterator[None]:
    """Errors that JAX raises while code runs, explained: a Python callback failed, or memory ran out."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        if CALLBACK not in lines[0]:
            raise EngineError(
                f"JAX gave up {where}: {lines[0]}",
                "Every run has to finish.",
                "",
                "If memory ran out, use fewer candidates at a time or smaller instances.",
            ) from error
        raise ProblemError(
            f"Python code that JAX calls back raised an error {where}: {lines[-1].rstrip('.')}.",
            "A callback returns a value for every instance.",
            "A run that fails is to be counted as a failure; an error ends all of them.",
            remedy,
        ) from error
