# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains four models, eager and with Tenon, on data that it makes, and draws their losses: training.png.

Forward and backward graphs are both fused. Without a GPU Tenon is asked to compile for the CPU, where PyTorch's own
products are mostly faster.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from compare import parse_arguments
from linear_leaky_relu import LinearLeakyReLU
from linear_scale_batch_norm_1024 import LinearScaleBatchNorm
from torch import nn

CLASSES = 10
STEPS = 60
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Data:
    """A teacher's outputs for inputs that are drawn, the same each time: what a student of its form can learn."""

    def __init__(self, teacher: nn.Module, batch: int, features: int, device: str, is_classes: bool) -> None:
        """Keep the teacher."""
        self.teacher, self.shape, self.device, self.is_classes = teacher, (batch, features), device, is_classes

    def draw(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the inputs and targets of a step."""
        generator = torch.Generator(self.device).manual_seed(step)
        x = torch.randn(self.shape, generator=generator, device=self.device)
        with torch.no_grad():
            y = self.teacher(x)
        return x, y.argmax(1) if self.is_classes else y


def classifier(features: int) -> nn.Module:
    """Return a small MLP with a score a class."""
    return nn.Sequential(nn.Linear(features, 256), nn.GELU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, CLASSES))


def train(model: nn.Module, call: Callable, data: Data, loss: Loss, rate: float) -> list[float]:
    """Return the loss of each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    losses = []
    for step in range(STEPS):
        x, target = data.draw(step)
        optimizer.zero_grad()
        value = loss(call(x), target)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def draw(curves: dict[str, dict[str, list[float]]], path: str) -> None:
    """Draw the losses of each model, eager's broad and Tenon's thin upon it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(curves), figsize=(4 * len(curves), 3))
    for axes, (name, losses) in zip(panels, curves.items(), strict=True):
        axes.semilogy(losses["eager"], linewidth=4, alpha=0.4, label="eager")
        axes.semilogy(losses["tenon"], linewidth=1, label="Tenon")
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("step")
    panels[0].set_ylabel("loss")
    panels[0].legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Train each model twice from the same start."""
    args = parse_arguments(__doc__.splitlines()[0], batch=1024, features=1024)
    options = {} if args.device == "cuda" else {"options": {"target": "cpu"}}
    makes: dict[str, tuple[Callable[[int], nn.Module], Loss, float]] = {
        "linear, LeakyReLU": (LinearLeakyReLU, F.mse_loss, 1.0),
        "linear, scale, batch norm": (LinearScaleBatchNorm, F.mse_loss, 1.0),
        "linear, batch norm, large batch": (LinearScaleBatchNorm, F.mse_loss, 1.0),
        "MLP classifier": (classifier, F.cross_entropy, 0.1),
    }
    curves: dict[str, dict[str, list[float]]] = {}
    for name, (make, loss, rate) in makes.items():
        batch = args.batch * (16 if "large" in name and args.device == "cuda" else 1)
        torch.manual_seed(0)
        teacher, model = (make(args.features).to(args.device) for _ in range(2))
        data = Data(teacher, batch, args.features, args.device, is_classes=loss is F.cross_entropy)
        twin = copy.deepcopy(model)
        torch._dynamo.reset()
        fused = torch.compile(model, backend="tenon", **options)  # the one changed line
        curves[name] = {"eager": train(twin, twin, data, loss, rate), "tenon": train(model, fused, data, loss, rate)}
        first, *_, eager = curves[name]["eager"]
        print(f"{name}: loss {first:.3f} -> eager {eager:.4f}, Tenon {curves[name]['tenon'][-1]:.4f}")
    draw(curves, "training.png")


if __name__ == "__main__":
    main()
