# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A block of a transformer, one of whose modules is replaced by its optimized self, and an explanation of it."""

import tenon.torch
import torch
from compare import parse_arguments, report
from torch import nn


class FeedForward(nn.Module):
    """x + down(gelu(up(norm(x))))."""

    def __init__(self, features: int) -> None:
        """Make the layers; the layer norm is PyTorch's own also afterwards."""
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)
        self.activation = nn.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, features] -> [batch, features]."""
        return x + self.down(self.activation(self.up(self.norm(x))))


def main() -> None:
    """Optimize, compare, and show that parameters are the same tensors."""
    args = parse_arguments(__doc__, batch=4096, features=2048)
    model = FeedForward(args.features).to(args.device).eval()
    x = torch.randn(args.batch, args.features, device=args.device)
    with torch.no_grad():
        print(tenon.torch.explain(model, x))
    fused = tenon.torch.optimize(model)  # the one changed line
    with torch.no_grad():
        for _ in range(2):  # the first call of a kind is PyTorch's own, recorded and compiled: not yet a comparison
            fused(x)
    report(model, fused, x)
    with torch.no_grad():
        model.up.weight.mul_(0.5)  # a change of the parameters is seen by the next call
    report(model, fused, x)


if __name__ == "__main__":
    main()
