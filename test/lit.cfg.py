# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit configuration: which files are tests, which tools they find, what they may require."""

import ctypes
import os
import shutil
import sys
from pathlib import Path

import lit.formats

# lit hands over `config` and `lit_config`.
# ruff: noqa: F821

config.name = "Tenon"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "python", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tenon_obj_root, "test")

source, build = Path(config.tenon_src_root), Path(config.tenon_obj_root)

# --- Tools --------------------------------------------------------------------
# Tests call tools by their plain names; these folders come before the user's.

tool_dirs = [build / "bin", config.llvm_tools_dir, f"{config.cuda_toolkit}/bin"]
config.environment["PATH"] = os.pathsep.join([*map(str, tool_dirs), os.environ["PATH"]])

venv_python = source / ".deps/venv/bin/python"
python = str(venv_python) if venv_python.exists() else sys.executable

# The runtime's C header and library, for tests that link a compiled model.
includes = [source / "include", build / "include", *config.cuda_include_dirs]
cross = source / "scripts/cross_aarch64.sh"
config.substitutions += [
    ("%python", python),
    ("%tenon_src", str(source)),
    ("%tenon_obj", str(build)),
    ("%tenon_lib", str(build / "lib")),
    ("%examples", str(source / "examples")),
    ("%cc", f"{config.c_compiler} {' '.join(f'-I{path}' for path in includes)}"),
    ("%cross_aarch64", f"env CXX={config.cxx_compiler} CUDA_HOME={config.cuda_toolkit} {cross}"),
    ("%qemu", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    ("%clangxx", f"{config.cxx_compiler} -std=c++20 {' '.join(f'-I{path}' for path in includes)}"),
]

# What a compiled model or a CUDA driver may need from the caller.
for name in (
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
    "TENON_LIBCUBLASLT",
):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if config.asan:
    config.available_features.add("asan")

# --- Features -----------------------------------------------------------------


def gpu_architectures() -> list[str]:
    """Return sm_XX for every NVIDIA GPU that the driver shows, or nothing."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    found = []
    for device in range(count.value):
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)  # compute capability, major
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)  # and minor
        found.append(f"sm_{major.value}{minor.value}")
    return found


if (Path(config.cuda_toolkit) / "bin/ptxas").exists():
    config.available_features.add("ptxas")
if all(map(shutil.which, ("qemu-aarch64", "aarch64-linux-gnu-g++"))):
    config.available_features.add("aarch64")
architectures = gpu_architectures()
if architectures:
    config.available_features.update(["gpu", *architectures])
