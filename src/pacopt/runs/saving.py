"""A certificate with its table on disk, and back: what every run has, whoever made the table."""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.certificate import Certificate
from pacopt.comparison import CURVES, Curves
from pacopt.errors import PacoptError, StorageError
from pacopt.loss_table import LossTable
from pacopt.report.page import write_report
from pacopt.runs.files import Writer, checked_files, checked_path, read_json, write_json, write_run
from pacopt.runs.siblings import earlier_certificates
from pacopt.support.stored_table import table_hash

if TYPE_CHECKING:
    from pacopt.report.source import Reportable


def save_certificate(certificate: Certificate, directory: str | os.PathLike[str]) -> Path:
    """Write a certificate and its table as a run, with a report."""
    certificate = beside(certificate, directory)
    return write_with_report(directory, writers(certificate), certificate)


def beside(certificate: Certificate, directory: str | os.PathLike[str]) -> Certificate:
    """The certificate as it is saved here: it says how many others beside it used some of its instances."""
    found = earlier_certificates(checked_path(directory), _table(certificate), certificate.design.hash)
    return certificate.after(max(certificate.earlier, found))


def writers(certificate: Certificate) -> dict[str, Writer]:
    """What writes the files that every run has."""
    return {
        "certificate.json": lambda path: write_json(path, certificate.to_dict()),
        "statement.txt": lambda path: _write_text(path, f"{certificate}\n"),
        "table.npz": _table(certificate).save,
    }


def write_with_report(
    directory: str | os.PathLike[str], files: Mapping[str, Writer], shown: "Certificate | Reportable"
) -> Path:
    """Write a run, then its report: what was computed is on the disk before anything is drawn."""
    written = write_run(directory, files)
    try:
        write_report(written, shown)
    except Exception as error:  # hours of learning are on the disk: a page that cannot be drawn is no reason to stop
        warnings.warn(
            f"The run is saved, and its report could not be drawn ({type(error).__name__}: {error}). Try "
            f"`pacopt report {written}`.",
            stacklevel=4,
        )
    return written


def load_certificate(directory: str | os.PathLike[str]) -> Certificate:
    """The certificate of a run with its table."""
    with read_files(directory) as files:
        return with_table(directory, read_json(files["certificate.json"]), LossTable.load(files["table.npz"]))


@contextmanager
def read_files(directory: str | os.PathLike[str]) -> Iterator[dict[str, Path]]:
    """The files of a run, none of them altered; whatever one holds that no run would is an error."""
    files = checked_files(directory)
    try:
        yield files
    except PacoptError:
        raise
    except Exception as error:
        raise StorageError(
            f"{os.fspath(directory)} could not be read ({type(error).__name__}: {error}).",
            "The files of one run are needed, as they were saved.",
            "",
            "Restore the directory from a copy, or learn again.",
        ) from error


def with_table(directory: str | os.PathLike[str], stored: dict[str, Any], table: LossTable) -> Certificate:
    """A stored certificate with its table, if it is its table."""
    certificate = Certificate.from_dict(stored)
    if table_hash(table) != certificate.table_hash:
        raise StorageError(
            f"{os.fspath(directory)} holds a certificate and the table of another run.",
            "A certificate is read with the table that it was made of.",
            "Its numbers say nothing about another one.",
            "Restore the directory from a copy, or learn again.",
        )
    return replace(certificate, table=table)


def _table(certificate: Certificate) -> LossTable:
    if certificate.table is None:
        raise StorageError(
            "The certificate was read without its table.",
            "A run holds both: without the table no number can be recomputed.",
            "",
            "Load it from its run: pacopt.Certificate.load(directory).",
        )
    return certificate.table


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def curves_stored(curves: Curves) -> dict[str, np.ndarray]:
    """The arrays of curves in a file."""
    return {"names": np.array(curves.names), **{name: getattr(curves, name) for name in CURVES}}


def curves_restored(arrays: Mapping[str, Any], test: LossTable) -> Curves:
    """Curves as they were stored; those of earlier versions have no names, and are those of the rows."""
    names = tuple(arrays["names"].tolist()) if "names" in arrays else test.origin.rows
    return Curves(names, **{name: arrays[name] for name in CURVES})
