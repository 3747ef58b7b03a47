#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds what models of tenon-compile --host=aarch64 need where they run:
# DIR/lib/libtenon_runtime.so.0, and DIR/bin/tenon-run.
# Needs clang, lld and Debian's g++-aarch64-linux-gnu, for its libraries.
#
# Usage: scripts/cross_aarch64.sh DIR
set -euo pipefail
mkdir -p "${1:?}/lib" "$1/bin"
dir=$(realpath "$1")
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\([^"]*\)".*/\1/p' pyproject.toml)

compile() {
  "${CXX:-clang++-22}" --target=aarch64-linux-gnu -std=c++20 -O2 -fPIC -fvisibility=hidden \
    -ffunction-sections -fdata-sections -DTENON_VERSION="\"$version\"" -Iinclude -Ilib \
    -isystem "${CUDA_HOME:-/usr/local/cuda}/include" -isystem .deps/cublas/include \
    -fuse-ld=lld -static-libstdc++ -Wl,--gc-sections "$@"
}

# As lib/Runtime/CMakeLists.txt and cmake/TenonWheel.cmake do it.
compile -shared -Wl,-soname,libtenon_runtime.so.0,-z,nodelete,--version-script=lib/Runtime/Exports.map \
  lib/Runtime/*.cpp cmake/arc4random.cpp -o "$dir/lib/libtenon_runtime.so.0"
compile tools/tenon-run/*.cpp lib/Runtime/{Driver,Manifest}.cpp cmake/arc4random.cpp \
  "$dir/lib/libtenon_runtime.so.0" -Wl,-rpath,'$ORIGIN/../lib' -o "$dir/bin/tenon-run"
