# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python examples run as a user runs them, small, and agree with eager mode."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tenon.torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OTHERS = ("compare", "import_onnx", "training")
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in OTHERS)


def run(name, batch=24, folder=None):
    sizes = [] if name == "import_onnx" else [f"--batch={batch}", "--features=64", "--device=cpu"]
    command = [sys.executable, EXAMPLES / f"{name}.py", *sizes]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in paths if path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_example(name):
    """It prints the shapes, and a difference that is one of roundings."""
    output = run(name)
    assert "(24, 64) -> (24, " in output
    differences = re.findall(r"largest difference: (\S+), of values up to (\S+)", output)
    assert differences
    assert all(float(d) <= 1e-5 * max(1.0, float(v)) for d, v in differences)


def test_import():
    """An ONNX file gives onnxruntime's numbers."""
    for package in ("onnxruntime", "onnxscript"):
        pytest.importorskip(package)
    output = run("import_onnx")
    difference = re.search(r"largest difference from onnxruntime: (\S+), of values up to (\S+)", output)
    assert float(difference[1]) <= 1e-5 * max(1.0, float(difference[2]))
    assert "8 linear layers" in output


def test_training(tmp_path):
    """Losses fall, as eager's do."""
    pytest.importorskip("matplotlib")
    lines = re.findall(r"loss (\S+) -> eager (\S+), Tenon (\S+)", run("training", 256, tmp_path))
    assert len(lines) == 4
    for first, eager, tenon in (map(float, line) for line in lines):
        assert eager < 0.8 * first
        assert abs(tenon - eager) <= 0.02 * first
    assert (tmp_path / "training.png").stat().st_size > 1000


def test_three_models_are_there():
    assert {"linear_leaky_relu", "linear_scale_batch_norm_1024", "linear_scale_batch_norm_16384"} <= set(PROGRAMS)


@pytest.mark.parametrize("name", [p for p in PROGRAMS if p.startswith("linear_")])
def test_one_line_is_changed(name):
    """One marked line calls Tenon, and nothing else of the program names it."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    marked = [line for line in lines if line.endswith("# the one changed line")]
    assert len(marked) == 1
    assert [line for line in lines if "tenon" in line] == marked


def test_running_statistics():
    """The batch norm counts the batch of each of the two calls."""
    assert "batches tracked: 2" in run("linear_scale_batch_norm_1024")
