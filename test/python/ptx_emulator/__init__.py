# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An emulator of PTX: Tenon's kernels, run by NumPy where there is no GPU.

It is for results, not for speed, and strict: what it does not know, and what no kernel may do (reading what nobody
wrote, leaving a buffer, copies that are not waited for, threads that wait for ever), is an error that names the
instruction and the thread. Asynchronous copies and products land as late as they may.

What it does not show: missing fences and other races that need two threads at once (`Device.seed` has warps take
turns at random, which shows missing barriers), how tensor cores round (here sums of 16 products are exact and then
cut), approximations' last bits, and anything about speed.

`Device` launches kernels of a PTX file; `host.Model` compiles MLIR and runs the host's part too; `layers.Layer` is
a tiled layer of any schedule beside float64.
"""

from .launch import Buffer, Device, Map
from .program import PtxError

__all__ = ["Buffer", "Device", "Map", "PtxError"]
