# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print a linear with a chain of 500 ops, of which every tenth is returned too."""

COUNT = 500
TYPE = "tensor<?x64xf32>"
returned = [*range(10, COUNT, 10), COUNT]
print(f"func.func @chain(%x: {TYPE}, %w: tensor<64x64xf32>) -> ({', '.join([TYPE] * len(returned))}) {{")
print(f"  %0 = tenon.linear %x, %w : ({TYPE}, tensor<64x64xf32>) -> {TYPE}")
for i in range(COUNT):
    print(f"  %{i + 1} = tenon.add %{i}, %{max(i - 1, 0)} : {TYPE}, {TYPE}")
print(f"  return {', '.join(f'%{i}' for i in returned)} : {', '.join([TYPE] * len(returned))}")
print("}")
