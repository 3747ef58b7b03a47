# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write inputs for npy.test with NumPy, and look at the outputs."""

import sys
from pathlib import Path

import numpy as np

step, folder = sys.argv[1], Path(sys.argv[2])
random = np.random.default_rng(0)
arrays = {
    "a": np.array([1.5, -65504, np.inf], np.float16),
    "b": np.array([0x3F80, 0xC000, 0x7F80], np.uint16),
    "c": random.normal(size=(2, 3)),
    "d": np.float32(0.1),
    "x": random.normal(size=(5, 64)).astype(np.float32),
    "w": random.normal(size=(32, 64)).astype(np.float32),
}
if step == "write":
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    # A later version of the format, with a longer header.
    with (folder / "c.npy").open("wb") as file:
        np.lib.format.write_array(file, arrays["c"], version=(2, 0))
elif step == "compare":
    for name in "abcd":
        output = np.load(folder / f"out/{name}_out.npy")
        assert output.dtype == arrays[name].dtype, name
        assert output.shape == arrays[name].shape, name
        assert np.array_equal(output, arrays[name]), name
    assert (folder / "out/c_out.npy").stat().st_size == 128 + 48, "the elements start at a multiple of 64 bytes"
else:
    output = np.load(folder / "y.npy")
    assert output.flags.c_contiguous
    assert np.allclose(output, 2 * arrays["x"] @ arrays["w"].T, rtol=1e-4, atol=1e-4)
