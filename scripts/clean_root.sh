#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds and runs programs in C and C++ against what is installed for
# deployment, in a Debian that has a compiler and nothing of Tenon's build.
# Needs root, debootstrap and a network. A ROOT that is there is used again.
#
# Usage: scripts/clean_root.sh BUILD ROOT [SUITE [MIRROR]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?} root=${2:?} suite=${3:-bookworm} mirror=${4:-http://deb.debian.org/debian}

[[ -d $root/usr ]] || debootstrap --variant=minbase --include=g++,pkg-config "$suite" "$root" "$mirror" > "$root.log"
rm -rf "$root/opt/tenon" "$root/work"
cmake --install "$build" --component deploy --prefix "$root/opt/tenon" > /dev/null
mkdir "$root/work"
cp test/Tools/install/Inputs/{load.c,compile.cpp} test/Tools/tenon-compile/Inputs/{caller.c,model.mlir} "$root/work"
cat > "$root/work/run.sh" <<'RUN'
set -eu
cd /work
export PKG_CONFIG_PATH=/opt/tenon/lib/pkgconfig
run() { printf '$ %s\n' "$*"; eval "$@"; }
ldd --version | sed -n 1p
run 'du -h /opt/tenon/lib/*tenon*'
run 'g++ -std=c++17 compile.cpp $(pkg-config --cflags --libs tenon-compiler) -Wl,-rpath,/opt/tenon/lib -o compile'
run 'time -p ./compile model.mlir libmodel.so'
run 'gcc -std=c11 load.c $(pkg-config --cflags --libs tenon-runtime) -Wl,-rpath,/opt/tenon/lib -o load'
run './load ./libmodel.so'
run '/opt/tenon/bin/tenon-run libmodel.so --dim m=2'
run 'ls -l libmodel.so'
RUN
# Models are linked through /proc, which containers have.
unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec env -i PATH=/usr/bin:/bin /usr/sbin/chroot "$0" bash /work/run.sh' "$root"
