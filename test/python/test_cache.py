# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled models: who compiles, who does not, and what is never trusted."""

import hashlib
import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import cache, compiler

SOURCE = """
func.func @forward(%x: tensor<?x2xf32>, %w: tensor<2x2xf32>) -> tensor<?x2xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %1 = tenon.relu %0 : tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}
"""
# Another process: waits for a moment that all share, compiles, and tells what that took.
PROCESS = """
import sys, time
import tenon
time.sleep(max(0, float(sys.argv[2]) - time.time()))
exe = tenon.compile(sys.argv[1], "cpu")
print(tenon.cache.statistics().hits, tenon.cache.statistics().compiled, len(exe.remarks))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compiled_by(call):
    """Return how many models `call` compiled."""
    before = cache.statistics()
    call()
    after = cache.statistics()
    assert after.hits + after.compiled == before.hits + before.compiled + 1
    return after.compiled - before.compiled


def compile_here(source=SOURCE, target="cpu", **options):
    x, w = np.ones((3, 2), np.float32), np.eye(2, dtype=np.float32)
    np.testing.assert_array_equal(tenon.compile(source, target, **options)(x, w), x)


def entries(folder):
    return [path for path in folder.iterdir() if path.is_dir()]


def start(folder, moment=0.0):
    env = os.environ | {"TENON_CACHE_DIR": str(folder), "PYTHONPATH": ":".join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, SOURCE, str(moment)], env=env, stdout=subprocess.PIPE, text=True
    )


def counts(process):
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return [int(number) for number in output.split()]


def test_a_second_process_compiles_nothing(folder):
    hits, compiled, remarks = counts(start(folder))
    assert (hits, compiled) == (0, 1) and remarks > 0
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert counts(start(folder)) == [1, 0, remarks]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_processes_at_once_compile_once(folder):
    moment = time.time() + 3
    results = [counts(process) for process in [start(folder, moment) for _ in range(4)]]
    assert sum(compiled for _, compiled, _ in results) == 1
    assert len(entries(folder)) == 1


def test_threads_at_once_compile_once(folder):
    before = cache.statistics().compiled
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: compile_here(), range(8)))
    assert cache.statistics().compiled == before + 1


@pytest.mark.alone
def test_a_hit_is_quick(folder):
    compile_here()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        tenon.compile(SOURCE, "cpu")
        times.append(time.perf_counter() - begin)
    assert min(times) < 5e-3


def test_a_hit_has_the_same_remarks(folder, tmp_path):
    assert tenon.compile(SOURCE, "cpu").remarks == tenon.compile(SOURCE, "cpu").remarks
    path = tmp_path / "model.mlir"
    path.write_text(SOURCE)
    assert compiled_by(lambda: tenon.compile(path, "cpu")) == 0
    assert {remark.file for remark in tenon.compile(path, "cpu").remarks} == {str(path)}


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def adopt(entry):
    """Put another model's entry here."""
    tenon.compile(SOURCE.replace("relu", "gelu"), "cpu")
    (other,) = (path for path in entries(entry.parent) if path != entry)
    for path in entry.iterdir():
        path.unlink()
    for path in other.iterdir():
        path.rename(entry / path.name)


def empty(entry):
    """Put a description there that is whole, but another tool's."""
    (entry / "entry").write_text(f"{hashlib.sha256(b'{}').hexdigest()}\n{{}}")


DAMAGES = {
    "a bit of the library": lambda entry: flip(entry / "libmodel.so"),
    "a bit of the header": lambda entry: flip(entry / "libmodel.h"),
    "cut library": lambda entry: os.truncate(entry / "libmodel.so", 1000),
    "empty library": lambda entry: os.truncate(entry / "libmodel.so", 0),
    "no library": lambda entry: (entry / "libmodel.so").unlink(),
    "no description": lambda entry: (entry / "entry").unlink(),
    "cut description": lambda entry: os.truncate(entry / "entry", 20),
    "not text": lambda entry: (entry / "entry").write_bytes(b"\xff\xfe"),
    "a bit of the description": lambda entry: flip(entry / "entry"),
    "another description": empty,
    "another's": adopt,
    "a file": lambda entry: (entry.rename(entry.with_suffix(".old")), entry.write_text("")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_made_anew(folder, damage):
    compile_here()
    (entry,) = entries(folder)
    DAMAGES[damage](entry)
    assert compiled_by(compile_here) == 1
    assert compiled_by(compile_here) == 0
    assert sorted(path.name for path in entry.iterdir()) == ["entry", "libmodel.h", "libmodel.so"]
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    "options",
    [
        {"name": "other"},
        {"cpu": "x86-64-v2"},
        {"reference": True},
        {"allow_rounding_changes": True},
        {"fold_weights": True},
        {"strategy": "library"},
        {"strategy": "tiled"},
        {"schedule": "mma_sync,tile=64x128x32,warps=2x2,stages=3,swizzle=128,raster=4,blocks=1"},
        {"source": SOURCE + "\n"},
    ],
    ids=str,
)
def test_what_the_model_depends_on_is_in_the_key(folder, options):
    compile_here()
    assert compiled_by(lambda: compile_here(**options)) == 1
    assert compiled_by(lambda: compile_here(**options)) == 0
    assert compiled_by(compile_here) == 0


def test_another_compiler_or_toolchain_compiles_anew(folder, monkeypatch):
    compile_here()
    monkeypatch.setattr(compiler, "fingerprint", lambda: "newer")
    assert compiled_by(compile_here) == 1
    monkeypatch.setattr(compiler, "_toolchain", lambda path: "other ptxas")
    assert compiled_by(compile_here) == 0  # no GPU code in it
    source, facts = compiler.Source(SOURCE, ""), {"targets": ["sm_80"]}
    key = compiler._key(source, facts)
    monkeypatch.setattr(compiler, "_toolchain", lambda path: "newer ptxas")
    assert compiler._key(source, facts) != key


def test_errors_are_not_kept(folder):
    for _ in range(2):
        with pytest.raises(tenon.CompileError):
            tenon.compile(SOURCE.replace("tenon.relu", "tenon.nothing"), "cpu")
    assert entries(folder) == []


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(cache, "_temporary", [])
    with pytest.warns(RuntimeWarning, match="TENON_CACHE_DIR to a folder that can be written") as warned:
        assert compiled_by(compile_here) == 1
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled_by(compile_here) == 0


def test_where_it_lies(monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", "/some/where")
    assert cache.directory() == Path("/some/where")
    monkeypatch.delenv("TENON_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache.directory() == Path("/xdg/tenon")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.directory() == Path.home() / ".cache" / "tenon"


@pytest.fixture
def full_disk(tmp_path):
    """Give a folder on a disk of its own with next to no space."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_cache_on_a_full_disk(full_disk, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(full_disk))
    monkeypatch.setattr(cache, "_temporary", [])
    with pytest.warns(RuntimeWarning, match=r"No space left.*TENON_CACHE_DIR to a folder that can be written"):
        executable = tenon.compile(SOURCE, target="cpu")
    assert executable.entries
    assert not [path for path in full_disk.iterdir() if path.is_dir()], "nothing is half written"
