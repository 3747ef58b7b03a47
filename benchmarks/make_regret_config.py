#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write benchmarks/configs/regret.json: where `auto` has to choose between the library and a tiled kernel.

Its shapes are those of all linear layers of benchmarks/whole_models, and RANDOM more between LEAST and MOST in M, N
and K, their logarithms uniform. A part of these is rounded to multiples of 8, which TMA can move. Needs torch and
transformers, no GPU.
"""

import json
import math
import random
from pathlib import Path

import torch
from torch import nn
from whole_models.models import MODELS

HERE = Path(__file__).resolve().parent
LEAST, MOST, RANDOM, ROUNDED, SEED = 64, 8192, 60, 45, 38
PART = 1  # of the batch that is computed


def random_shapes() -> list[tuple[int, int, int]]:
    """Draw [M, N, K]."""
    draw = random.Random(SEED)
    shapes = []
    for number in range(RANDOM):
        step = 8 if number < ROUNDED else 1
        extents = [math.exp(draw.uniform(math.log(LEAST), math.log(MOST))) for _ in range(3)]
        shapes.append(tuple(max(LEAST, round(extent / step) * step) for extent in extents))
    return shapes


def layers_of(name: str) -> set[tuple[int, int, int]]:
    """Return [M, N, K] of a model's linear layers, found by computing a part of the batch."""
    model, shapes = MODELS[name], set()
    along = "batch" if "batch" in model.real else "rows"
    sizes = {**model.real, along: PART}

    def note(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        k = inputs[0].shape[-1]
        shapes.add((inputs[0].numel() // k * model.real[along] // PART, output.shape[-1], k))

    module = model.build(sizes, torch.bfloat16, "cpu").eval()
    for part in module.modules():
        if isinstance(part, nn.Linear) or type(part).__name__ == "Conv1D":
            part.register_forward_hook(note)
    with torch.no_grad():
        module(*model.inputs(sizes, torch.bfloat16, "cpu"))
    return shapes


def main() -> None:
    """Write the file."""
    shapes = sorted(set().union(*map(layers_of, MODELS)))
    config = {
        "models": ["bias_relu", "bias_gelu"],
        "dtypes": ["bf16"],
        "strategies": ["library", "tiled", "auto"],
        "peers": [],
        "repeat": 5,
        "shapes": [[[extent] for extent in shape] for shape in [*shapes, *random_shapes()]],
    }
    (HERE / "configs/regret.json").write_text(json.dumps(config, indent=1) + "\n")
    print(f"{len(shapes)} layers of models, {RANDOM} random shapes")


if __name__ == "__main__":
    main()
