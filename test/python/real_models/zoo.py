# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models by name, with what they are called with."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from whole_models import plain_models, transformers_models

from . import hub, own

IMAGE = {"image": 32, "classes": 16, "heads": 4, "hidden": 64, "layers": 2}


@dataclass(frozen=True)
class Kind:
    """A model.

    Attributes:
        make: returns the module.
        draw: returns inputs of float32 or integers, with another batch each time it is called with another seed.
        package: what it needs beside PyTorch.
        fused: whether Tenon has to take a part of it.

    """

    make: Callable[[], nn.Module]
    draw: Callable[[int], tuple[torch.Tensor, ...]]
    package: str | None = "transformers"
    fused: bool = True

    def build(self, dtype=torch.float32):
        """Return the module; the same numbers each time."""
        torch.manual_seed(0)
        torch.set_default_dtype(dtype)
        try:
            return self.make()
        finally:
            torch.set_default_dtype(torch.float32)

    def inputs(self, dtype=torch.float32, seed=1):
        """Return inputs in the model's type."""
        torch.manual_seed(seed)
        return tuple(t.to(dtype) if t.is_floating_point() else t for t in self.draw(2))


def ids(length=16):
    return lambda batch: (torch.randint(2, 64, (batch, length)),)


def normal(*shape):
    return lambda batch: (torch.randn(batch, *shape),)


ZOO = {
    "bert_eager": Kind(lambda: hub.bert("eager"), ids()),
    "bert_sdpa": Kind(lambda: hub.bert("sdpa"), ids()),
    "gpt2": Kind(lambda: transformers_models.gpt2(hub.SIZES), ids()),
    "llama": Kind(hub.llama, ids()),
    "t5": Kind(hub.t5, ids(8)),
    "vit": Kind(lambda: transformers_models.vit({**IMAGE, "patch": 8, "width": 32}), normal(3, 32, 32)),
    "swin": Kind(
        lambda: transformers_models.swin({**IMAGE, "patch": 2, "window": 4, "width": 12, "stages": 2}),
        normal(3, 32, 32),
    ),
    "mixer": Kind(lambda: plain_models.Mixer(32, 8, 32, 2, 16), normal(3, 32, 32), None),
    "clip_text": Kind(hub.clip_text, ids()),
    "whisper_encoder": Kind(hub.whisper_encoder, normal(8, 32)),
    "mixtral": Kind(hub.mixtral, ids()),
    "mamba": Kind(hub.mamba, ids(4)),
    "scan": Kind(own.Scan, normal(6, 16), None, fused=False),
    "lstm": Kind(lambda: own.Recurrent(nn.LSTM), normal(6, 16), None, fused=False),
    "gru": Kind(lambda: own.Recurrent(nn.GRU), normal(6, 16), None, fused=False),
    "nanogpt": Kind(own.Block, normal(16, 32), None),
    "dlrm": Kind(own.Towers, lambda batch: (torch.randn(8 * batch, 13), torch.randint(50, (8 * batch, 4, 3))), None),
    "lora": Kind(lambda: plain_models.Lora(32, 4), normal(32), None),
    "recommender": Kind(
        lambda: plain_models.Recommender(16, (32, 24)), lambda batch: (torch.randn(16 * batch, 16),), None
    ),
    "geglu": Kind(lambda: plain_models.PackedGeGlu(32, 48), normal(4, 32), None, fused=False),
}
