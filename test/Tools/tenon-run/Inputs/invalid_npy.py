# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write files that tenon-run must refuse as the float32 [m, 64] with m = 3."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
good = np.zeros((3, 64), np.float32)
arrays = {
    "good": good,
    "fortran": np.asfortranarray(good),
    "double": good.astype(np.float64),
    "big-endian": good.astype(">f4"),
    "narrow": good[:, :63].copy(),
    "vector": good[0],
    "four-rows": np.zeros((4, 64), np.float32),
}
for name, array in arrays.items():
    np.save(folder / f"{name}.npy", array)
data = (folder / "good.npy").read_bytes()
broken = {
    "text": b"x,y\n1,2\n3,4\n",
    "short-header": data[:40],
    "no-dtype": data.replace(b"'descr'", b"'desc_'"),
    "bad-shape": data.replace(b"(3, 64)", b"(3, -6)"),
    "cut": data[:-8],
    "long": data + b"x",
}
for name, contents in broken.items():
    (folder / f"{name}.npy").write_bytes(contents)
