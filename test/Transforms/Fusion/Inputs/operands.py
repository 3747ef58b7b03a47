# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a layer that adds 300 tensors to its product."""

N = 300
ARGUMENTS = ", ".join(f"%a{i}: tensor<?x16xf32>" for i in range(N))
print(f"func.func @sum(%x: tensor<?x32xf32>, %w: tensor<16x32xf32>, {ARGUMENTS}) -> tensor<?x16xf32> {{")
print("  %y0 = tenon.linear %x, %w : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>")
for i in range(N):
    print(f"  %y{i + 1} = tenon.add %y{i}, %a{i} : tensor<?x16xf32>, tensor<?x16xf32>")
print(f"  return %y{N} : tensor<?x16xf32>\n}}")
