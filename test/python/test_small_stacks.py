# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products run in threads of little stack."""

import subprocess
import sys

import numpy as np
import pytest
from tenon_graphs.execute import RUNTIME, TENON_COMPILE, tool

SCRIPT = """
import sys, threading
import numpy as np
from tenon_model import Model
model = Model(sys.argv[1], sys.argv[2])
dtype = np.dtype(sys.argv[3])
draws = np.random.default_rng(0)
x, w, v = (draws.uniform(-1, 1, s).astype(dtype) for s in [(40, 512), (512, 512), (512, 512)])
def run():
    (y,) = model.bind("f", [x, w, v])()
    np.testing.assert_allclose(y, x @ w.T @ v.T, rtol=1e-3, atol=1e-2)
    print("done")
threading.stack_size(int(sys.argv[4]))
threads = [threading.Thread(target=run) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_product(element, threads, tmp_path):
    x, w = f"tensor<40x512x{element}>", f"tensor<512x512x{element}>"
    (tmp_path / "f.mlir").write_text(f"""
func.func @f(%x: {x}, %w: {w}, %v: {w}) -> {x} {{
  %0 = tenon.linear %x, %w : ({x}, {w}) -> {x}
  %1 = tenon.linear %0, %v : ({x}, {w}) -> {x}
  return %1 : {x}
}}""")
    tool(TENON_COMPILE, tmp_path / "f.mlir", "-o", tmp_path / "f.so")
    dtype, stack = np.dtype(f"f{int(element[1:]) // 8}").name, "131072"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "f.so", RUNTIME, dtype, stack],
        env={"PYTHONPATH": ":".join(sys.path), "TENON_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.split() == ["done", "done"]
