# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear layer, times 2, LeakyReLU: linear_leaky_relu.mlir as a PyTorch user has it."""

import torch
import torch.nn.functional as F
from compare import parse_arguments, report
from torch import nn


class LinearLeakyReLU(nn.Module):
    """leaky_relu(linear(x) * multiplier)."""

    def __init__(self, features: int, multiplier: float = 2.0, negative_slope: float = 0.1) -> None:
        """Make the layer."""
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.multiplier = multiplier
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, features] -> [batch, features]."""
        return F.leaky_relu(self.linear(x) * self.multiplier, self.negative_slope)


def main() -> None:
    """Compare eager and fused."""
    args = parse_arguments(__doc__, batch=1024, features=8192)
    model = LinearLeakyReLU(args.features).to(args.device).eval()
    fused = torch.compile(model, backend="tenon")  # the one changed line
    report(model, fused, torch.randn(args.batch, args.features, device=args.device))


if __name__ == "__main__":
    main()
