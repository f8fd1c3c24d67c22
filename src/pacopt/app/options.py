"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, everything else on stderr.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Run = Annotated[Path, typer.Argument(help="The directory of a run.", metavar="RUN")]
