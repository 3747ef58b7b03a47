# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small PyTorch models for tests and benchmarks, each of any width; `MODELS` has them by name.

    model = MODELS["linear_leaky_relu"]
    module = model.build(width=8192, dtype=torch.bfloat16, device="cuda")
    y = module(*model.inputs(batch=1024, width=8192, dtype=torch.bfloat16, device="cuda"))

Every module of this folder that defines models is imported here, which enters them.
"""

from . import activations, batch_norm, chains, dtypes, founders, linears, networks, operands, shapes, structure
from .registry import MODELS, Model

__all__ = [
    "MODELS",
    "Model",
    "activations",
    "batch_norm",
    "chains",
    "dtypes",
    "founders",
    "linears",
    "networks",
    "operands",
    "shapes",
    "structure",
]
