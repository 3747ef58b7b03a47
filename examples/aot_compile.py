# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model compiled ahead of time: MLIR text, then a shared object and a C header, then a call of that."""

import tempfile
from pathlib import Path

import tenon
import tenon.torch
import torch
from compare import parse_arguments, report
from torch import nn


def main() -> None:
    """Export, compile, load and compare."""
    args = parse_arguments(__doc__, batch=1024, features=4096)
    layers = [nn.Linear(args.features, args.features), nn.SiLU(), nn.Linear(args.features, 10), nn.Sigmoid()]
    model = nn.Sequential(*layers).to(args.device).eval()
    x = torch.randn(args.batch, args.features, device=args.device)

    text = tenon.torch.export(model, (x,), dynamic_batch=True)
    print(text[text.index("func.func") : text.index(" {\n")])

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "libclassifier.so"
        tenon.torch.aot_compile(model, (x,), path, dynamic_batch=True)  # and libclassifier.h, for C
        compiled = tenon.load(path)
        print(compiled)
        report(model, compiled, x)
        report(model, compiled, x[:7])


if __name__ == "__main__":
    main()
