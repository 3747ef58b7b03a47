# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are a module's attributes: of several on one line, each must be told from the others."""

from functools import partial

import torch
import torch.nn.functional as F

SLOPE = 0.5


def make_scaled(factor):
    """Return a function with a cell."""
    return lambda x: x * factor


# fmt: off
FUNCTIONS = {
    "partial": partial(F.leaky_relu, negative_slope=0.3),
    "partial_of_partial": partial(partial(torch.clamp, min=-0.25), max=0.5),
    "lambda": lambda x: x * torch.sigmoid(x),
    "left": lambda x: x * 2.0, "right": lambda x: x * 3.0, "same": lambda x: x * 2.0,
    "default": lambda x, factor=2.0: torch.relu(x) * factor, "chosen": lambda x: (x) if x.dim() == 2 else (x + 1),
    "keyword": lambda x, *, factor=2.0: torch.relu(x) * factor, "over_lines": lambda x: (
        torch.tanh(x) + SLOPE
    ),
    "cell": make_scaled(4.0),
    "partial_of_lambda": partial(lambda factor, x: x * factor, 5.0),
}
REFUSED = {
    "builtin": lambda x: x * (2.0 if callable(lambda y: y * 4.0) else 3.0),
    "tensor": partial(torch.mul, torch.tensor(2.0)),
    "list": partial(torch.sum, dim=[0]),
    "prints": lambda x: print(x) or x,
}
# fmt: on
