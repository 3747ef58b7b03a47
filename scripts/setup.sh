#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what Tenon needs on Debian 12, and only what is missing: packages
# through apt (as root; otherwise they are printed and the script stops), and
# into .deps/ a Python environment and the parts of CUDA 13 that the machine
# lacks. Where nothing is missing it takes a fraction of a second.
#
# Usage: scripts/setup.sh

set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  # MLIR and the compiler. LLVM's CMake files look for zlib and zstd.
  clang-22 clang-format-22 clang-tidy-22 lld-22 liblld-22-dev
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools libclang-rt-22-dev
  zlib1g-dev libzstd-dev
  # The build.
  cmake ninja-build ccache git make
  # Libraries.
  libdlpack-dev libgtest-dev nlohmann-json3-dev
  # Scripts.
  python3 python3-dev python3-venv
)

# --- Debian packages ---------------------------------------------------------

missing=()
installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' 2>/dev/null || true)"
for package in "${packages[@]}"; do
  [[ $installed == *" installed:$package "* ]] || missing+=("$package")
done
if ((${#missing[@]})); then
  if ((EUID != 0)); then
    echo "setup: these Debian 12 packages are missing; install them and run this again:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# --- Python environment ------------------------------------------------------

mkdir -p .deps
venv=.deps/venv
if ! cmp -s scripts/requirements.txt "$venv/requirements.txt" || ! "$venv/bin/python" -c '' 2>/dev/null; then
  echo "setup: Python packages into $venv"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r scripts/requirements.txt
  cp scripts/requirements.txt "$venv/requirements.txt" # last, so that a broken install is repeated
fi

# --- CUDA 13 -----------------------------------------------------------------

# Unpacks a wheel's nvidia/cu13/<folder> into a directory, without installing the wheel.
unpack_wheel() { # package folder destination
  local scratch
  scratch=$(mktemp -d .deps/wheel.XXXXXX)
  "$venv/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$scratch" "$1==13.0.*"
  "$venv/bin/python" scripts/unpack_wheel.py "$scratch"/*.whl "nvidia/cu13/$2" "$3"
  rm -rf "$scratch"
}

has_cuda() {
  [[ -x $1/bin/ptxas && -x $1/bin/fatbinary && -f $1/nvvm/libdevice/libdevice.10.bc && -f $1/include/cuda.h &&
    -f $1/include/nv/target ]]
}
if ! has_cuda .deps/cuda && ! has_cuda "${CUDA_HOME:-/usr/local/cuda}"; then
  echo "setup: CUDA 13 compiler and headers into .deps/cuda"
  rm -rf .deps/cuda.part
  for package in nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime; do
    unpack_wheel "$package" "" .deps/cuda.part
  done
  unpack_wheel nvidia-cuda-cccl include/nv .deps/cuda.part/include/nv # cuda_fp16.h includes it
  rm -rf .deps/cuda.part/lib .deps/cuda.part/nvvm/bin .deps/cuda.part/bin/{nvcc*,cudafe*,crt} # nvcc: never used
  rm -rf .deps/cuda
  mv .deps/cuda.part .deps/cuda
fi

# The library itself is opened at run time; the build needs its headers alone.
if [[ ! -f .deps/cublas/include/cublasLt.h && ! -f ${CUDA_HOME:-/usr/local/cuda}/include/cublasLt.h ]]; then
  echo "setup: cuBLASLt's headers into .deps/cublas (one download of about 440 MB)"
  rm -rf .deps/cublas.part
  unpack_wheel nvidia-cublas include .deps/cublas.part/include
  rm -rf .deps/cublas
  mv .deps/cublas.part .deps/cublas
fi
