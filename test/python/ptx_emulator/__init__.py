# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An emulator of PTX: Tenon's kernels, run by NumPy where there is no GPU.

It is for results, not for speed, and strict: what it does not know, and what no kernel may do (reading what nobody
wrote, leaving a buffer, copies that are not waited for, threads that wait for ever), is an error that names the
instruction and the thread.
"""

from .launch import Buffer, Device, Map
from .program import PtxError

__all__ = ["Buffer", "Device", "Map", "PtxError"]
