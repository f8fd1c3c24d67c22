"""What `--help` shows: paragraphs without the line breaks of the source, and flags without a type."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def paragraphs(text: str | None) -> str:
    """The paragraphs of a docstring, each on one line; how wide a terminal is, nobody knows before.

    >>> paragraphs("One\\n    sentence.\\n\\n    Another.")
    'One sentence.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))


def command(app: typer.Typer, epilog: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that makes a function a command, with its docstring as help."""

    def made(function: Callable[..., None]) -> Callable[..., None]:
        return app.command(cls=Command, help=paragraphs(function.__doc__), epilog=epilog)(function)

    return made


def _untyped(params: list[Any]) -> list[Any]:
    """Flags take no value, so that their type would only mislead; of a list, the type of one value is shown."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif param.nargs != 1:
            param.bare_type = lambda: "str"  # not list[str], which is Python
    return params


class Command(TyperCommand):
    """A command whose help names no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options."""
        return _untyped(super().get_params(ctx))


class Group(TyperGroup):
    """Commands, the help of which names no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options."""
        return _untyped(super().get_params(ctx))
