#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks that need no build: format, licence headers, spelling, trailing
# spaces, Python. Names every file that breaks one, and exits 1.
#
# Usage: scripts/lint.sh

set -uo pipefail
cd "$(dirname "$0")/.."
bin=.deps/venv/bin
failed=0

check() { # what remedy command...
  local what=$1 remedy=$2
  shift 2
  if ! "$@"; then
    echo "lint: $what; $remedy" >&2
    failed=1
  fi
}

files() { # patterns...
  git ls-files -co --exclude-standard -- "$@" | while read -r file; do [[ -f $file ]] && echo "$file"; done
}
cpp_format() {
  ! files '*.h' '*.c' '*.cpp' | xargs -r clang-format-22 --dry-run 2>&1 | sed -n 's/:.*warning: code should be.*//p' | uniq | grep .
}
spdx() { ! files '*.h' '*.c' '*.cpp' '*.td' '*.py' '*.sh' '*.cmake' Makefile .ci/run |
  xargs -r grep -L 'SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception' | grep .; }
spaces() { ! files | grep -vE '\.(png|npy|bin|svg)$' | xargs -r grep -nIE '[[:blank:]]+$'; }
# rewriter.create<Op>(...) is deprecated in MLIR: Op::create(rewriter, ...) replaces it.
creates() { ! files 'lib/*.cpp' 'include/*.h' | xargs -r grep -nE '(rewriter|builder|b)\.create<'; }

check "the files above are not formatted" "run 'make format'" cpp_format
check "the files above have no SPDX header" "copy one from a neighbour" spdx
check "the lines above end in spaces" "remove them" spaces
check "the lines above call builder.create<Op>" "write Op::create(builder, ...)" creates
check "the includes above go upwards" "move what both need into a room below both (ROOMS in scripts/check_layers.py)" \
  scripts/check_layers.py
check "spelling" "correct it, or add the word to .codespellignore" \
  bash -c "git ls-files -co --exclude-standard | xargs -r $bin/codespell --toml pyproject.toml"
check "Python is not formatted" "run 'make format'" "$bin/ruff" format -q --check .
check "Python" "see above" "$bin/ruff" check -q .

exit $failed
