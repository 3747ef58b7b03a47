# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear layer, times a scale, batch norm: linear_scale_batch_norm_1024.mlir as a PyTorch user has it."""

import torch
from compare import parse_arguments, report
from torch import nn


class LinearScaleBatchNorm(nn.Module):
    """batch_norm(linear(x) * scale); in training, the running statistics are updated."""

    def __init__(self, features: int) -> None:
        """Make the layers."""
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.scale = nn.Parameter(torch.randn(features))
        self.bn = nn.BatchNorm1d(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, features] -> [batch, features]."""
        return self.bn(self.linear(x) * self.scale)


def main() -> None:
    """Compare eager and fused, in train mode; both update the same running statistics."""
    args = parse_arguments(__doc__, batch=1024, features=8192)
    model = LinearScaleBatchNorm(args.features).to(args.device).train()
    fused = torch.compile(model, backend="tenon")  # the one changed line
    report(model, fused, torch.randn(args.batch, args.features, device=args.device))
    print(f"batches tracked: {model.bn.num_batches_tracked.item()}")


if __name__ == "__main__":
    main()
