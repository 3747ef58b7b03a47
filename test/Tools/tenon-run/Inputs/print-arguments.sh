#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Stands in for tenon-compile: prints what it was asked, and fails.

for argument; do
  echo "[$argument]"
done
exit 3
