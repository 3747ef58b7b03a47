# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What GPU the machine has: asked of the CUDA driver itself, so that no framework is needed."""

from __future__ import annotations

import ctypes
import functools
import os

from tenon import _native, errors

CPU, CUDA = 1, 2  # DLPack's device types
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CUdevice_attribute


@functools.cache
def driver() -> ctypes.CDLL | None:
    """Return the CUDA driver, or None on a machine without it."""
    try:
        cuda = ctypes.CDLL(os.environ.get("TENON_LIBCUDA") or "libcuda.so.1")
    except OSError:
        return None
    return cuda if cuda.cuInit(0) == 0 else None


@functools.cache
def capability(ordinal: int = 0) -> tuple[int, int] | None:
    """Return the compute capability of a GPU, or None where there is none."""
    cuda = driver()
    device = ctypes.c_int()
    if cuda is None or cuda.cuDeviceGet(ctypes.byref(device), ordinal):
        return None
    values = []
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        value = ctypes.c_int()
        if cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return None
        values.append(value.value)
    return values[0], values[1]


def _version(target: str) -> tuple[int, int]:
    """Return (9, 0) of "sm_90a"."""
    number = int(target.removeprefix("sm_").rstrip("af"))
    return number // 10, number % 10


def known_targets() -> list[str]:
    """Return the GPU targets that Tenon compiles for."""
    return [name.strip() for name in _native.targets().split(",")]


def best_target(found: tuple[int, int] | None) -> str:
    """Return the target for a GPU of compute capability `found`, "cpu" if there is none.

    That is the GPU's own target, its architecture-specific form (sm_90a) if there is one,
    or the nearest lower one, whose PTX runs there too.
    """
    names = known_targets()
    own = [name for name in names if _version(name) == found and name.endswith("a")]
    lower = [name for name in names if found and _version(name) <= found and not name.endswith("a")]
    return (own or sorted(lower, key=_version) or ["cpu"])[-1]


def default_target(ordinal: int = 0) -> str:
    """Return the target for this machine's GPU, "cpu" if it has none that Tenon serves."""
    return best_target(capability(ordinal))


def synchronize(ordinal: int) -> None:
    """Wait until GPU `ordinal` has done all that was asked of it."""
    cuda = driver()
    context, device = ctypes.c_void_p(), ctypes.c_int()
    if cuda is None:
        raise errors.NotFoundError("libcuda.so.1 is not there; install NVIDIA's driver")
    result = cuda.cuDeviceGet(ctypes.byref(device), ordinal)
    result = result or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    if result:
        raise errors.DeviceError(f"GPU {ordinal} cannot be used: CUDA error {result}")
    cuda.cuCtxPushCurrent_v2(context)
    result = cuda.cuCtxSynchronize()
    cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    cuda.cuDevicePrimaryCtxRelease_v2(device)
    if result:
        raise errors.DeviceError(f"GPU {ordinal} failed: CUDA error {result}")
