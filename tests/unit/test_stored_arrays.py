"""Files of arrays: whatever accident happened to one, it is read as it was written, or refused with reasons."""

import json
import os
import zipfile

import numpy as np
import pytest

import pacopt
from pacopt.errors import StorageError
from pacopt.support.arrays import UNPACK_LIMIT, load_npz, save_npz

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.array(["x", "yz"])}


def same(found):
    return found.keys() == ARRAYS.keys() and all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize("flips", [1000, pytest.param(5000, marks=pytest.mark.slow)])
def test_flipped_bits_are_noticed_or_harmless(tmp_path, flips):
    path, rng = tmp_path / "arrays.npz", np.random.default_rng(0)
    save_npz(path, ARRAYS)
    content, refused = path.read_bytes(), 0
    for place in rng.integers(0, 8 * len(content), flips).tolist():
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        try:
            found = load_npz(path)
        except StorageError:
            refused += 1
        else:
            # A flip may hit a name, which no check sum covers: then an array is there under another one.
            assert same(found) or found.keys() != ARRAYS.keys()
    assert refused > 0.6 * flips


def test_a_header_that_lost_its_brace_is_an_error_with_reasons(tmp_path):
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2,), ".ljust(127) + b"\n"
    with zipfile.ZipFile(tmp_path / "lost.npz", "w") as archive:
        archive.writestr("a.npy", header + np.zeros(2).tobytes())
    with pytest.raises(StorageError, match="could not be read as an npz archive"):
        pacopt.Instances.load(tmp_path / "lost.npz")


def test_an_array_that_is_there_twice_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    content = (tmp_path / "a.npy").read_bytes()
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("a.npy", content)
        archive.writestr("a", content)
    with pytest.raises(StorageError, match="it holds a twice"):
        load_npz(tmp_path / "twice.npz")


def test_a_small_file_that_unpacks_to_gigabytes_says_so_before_it_is_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "small.npz", a=np.zeros(300_000))
    monkeypatch.setenv(UNPACK_LIMIT, "1000000")
    with pytest.raises(StorageError, match=r"bytes unpack to 2,400,128; .* PACOPT_UNPACK_LIMIT=2400128"):
        load_npz(tmp_path / "small.npz")
    monkeypatch.setenv(UNPACK_LIMIT, "2400128")
    assert load_npz(tmp_path / "small.npz")["a"].shape == (300_000,)


def test_nobody_waits_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(StorageError, match="not a regular file"):
        load_npz(tmp_path / "pipe.npz")
    run = pacopt.certify(pacopt.LossTable(np.full((2, 30), 0.5), np.ones(30))).save(tmp_path / "run")
    (run / "table.npz").unlink()
    os.mkfifo(run / "table.npz")
    assert "table.npz is not a regular file" in str(pacopt.verify(run))


def test_a_name_that_no_file_system_knows_is_named_as_such(tmp_path):
    run = pacopt.certify(pacopt.LossTable(np.full((2, 30), 0.5), np.ones(30))).save(tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"]["\udfff.txt"] = manifest["files"]["statement.txt"]
    (run / "manifest.json").write_text(json.dumps(manifest, sort_keys=True, indent=1) + "\n")
    assert r"'\udfff.txt' cannot be read" in str(pacopt.verify(run))
