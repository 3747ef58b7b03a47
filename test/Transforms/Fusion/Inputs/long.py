# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a product with a long epilogue: `long.py ops|divisions|residual|results COUNT`."""

import sys

kind, count = sys.argv[1], int(sys.argv[2])
SHAPE = "tensor<8x64xbf16>"
arguments, body, results = ["%x: tensor<8x64xbf16>", "%w: tensor<64x64xbf16>"], [], []
last = "%p"
for i in range(count):
    if kind in ("ops", "divisions"):  # one after the other
        body.append(f"%a{i} = {'tenon.gelu' if kind == 'ops' else 'tenon.div 1.5,'} {last} : {SHAPE}")
        last = f"%a{i}"
    elif kind == "results":
        body.append(f"%a{i} = tenon.clamp %p {{min = {i}.0}} : {SHAPE}")
        results.append(f"%a{i}")
    else:  # a sum that is added to the product
        arguments.append(f"%r{i}: {SHAPE}")
        text = f"tenon.add %a{i - 1}, %r{i} : {SHAPE}, {SHAPE}" if i else f"tenon.relu %r0 : {SHAPE}"
        body.append(f"%a{i} = {text}")
if kind == "residual":
    body.append(f"%z = tenon.add %p, %a{count - 1} : {SHAPE}, {SHAPE}")
    last = "%z"
results = results or [last]
types = ", ".join([SHAPE] * len(results))
product = f"%p = tenon.linear %x, %w : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> {SHAPE}"
lines = "\n  ".join([product, *body, f"return {', '.join(results)} : {types}"])
print(f"func.func @f({', '.join(arguments)}) -> ({types}) {{\n  {lines}\n}}")
