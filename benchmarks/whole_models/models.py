# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which models there are, at their real sizes and at tiny ones, and what they are called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from whole_models import plain_models as plain
from whole_models import transformers_models as hub

Sizes = Mapping[str, int]


class Normal(NamedTuple):
    """An input of normal numbers in the model's type."""

    shape: tuple[int, ...]


class Ids(NamedTuple):
    """An input of integers below a limit."""

    shape: tuple[int, ...]
    limit: int


@dataclass(frozen=True)
class Model:
    """A model.

    Attributes:
        title: what a reader calls it.
        make: returns the module, given its sizes.
        takes: returns what its inputs are, given its sizes.
        real: the sizes to measure.
        tiny: sizes that a CPU computes at once.
        parts: in how many parts float64 takes the batch, for want of memory; 1 where rows depend on each other.
        inside: it stands within a network, so a training step wants the gradient of its input too.
        train: it is in training mode without gradients as well.

    """

    title: str
    make: Callable[[Sizes], nn.Module]
    takes: Callable[[Sizes], list[Normal | Ids]]
    real: Sizes
    tiny: Sizes
    parts: int = 4
    inside: bool = False
    train: bool = False

    def build(self, sizes: Sizes, dtype: torch.dtype, device: str) -> nn.Module:
        """Return the module of a type, made on the device; the same numbers each time."""
        torch.manual_seed(0)
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)  # and no cast: what transformers keeps in float32 stays so
        try:
            with torch.device(device):
                return self.make(sizes)
        finally:
            torch.set_default_dtype(before)

    def inputs(self, sizes: Sizes, dtype: torch.dtype, device: str) -> list[torch.Tensor]:
        """Return inputs; the same numbers each time."""
        generator = torch.Generator(device).manual_seed(1)

        def draw(kind: Normal | Ids) -> torch.Tensor:
            if isinstance(kind, Ids):
                return torch.randint(kind.limit, kind.shape, generator=generator, device=device)
            return torch.randn(kind.shape, generator=generator, device=device).to(dtype)

        return [draw(kind) for kind in self.takes(sizes)]


def text(s: Sizes) -> list[Normal | Ids]:
    """Return what a model of text takes."""
    return [Ids((s["batch"], s["length"]), s["words"])]


def images(s: Sizes) -> list[Normal | Ids]:
    """Return what a model of images takes."""
    return [Normal((s["batch"], 3, s["image"], s["image"]))]


def rows(s: Sizes) -> list[Normal | Ids]:
    """Return what a model takes whose input is rows."""
    return [Normal((s["rows"], s["width"]))]


BASE = {"width": 768, "hidden": 3072, "layers": 12, "heads": 12}
SMALL = {"batch": 2, "length": 16, "width": 32, "hidden": 64, "layers": 2, "heads": 2, "words": 64}
SMALL_IMAGE = {"batch": 2, "image": 32, "classes": 16}


def _swiglu(count: int) -> Model:
    return Model(
        f"SwiGLU, rows: {count}",
        lambda s: plain.SwiGlu(s["width"], s["hidden"]),
        rows,
        {"rows": count, "width": 4096, "hidden": 11008},
        {"rows": min(count, 16), "width": 32, "hidden": 64},
        parts=1,
        inside=True,
    )


def _projections(count: int) -> Model:
    return Model(
        f"RMS norm, q, k, v, rows: {count}",
        lambda s: plain.Projections(s["width"], s["narrow"]),
        rows,
        {"rows": count, "width": 4096, "narrow": 1024},
        {"rows": min(count, 16), "width": 32, "narrow": 16},
        parts=1,
        inside=True,
    )


MODELS: dict[str, Model] = {
    "bert": Model("BERT-base", hub.bert, text, {"batch": 16, "length": 512, "words": 30522, **BASE}, SMALL),
    "gpt2": Model("GPT-2", hub.gpt2, text, {"batch": 8, "length": 1024, "words": 50257, **BASE}, SMALL),
    "llama": Model(
        "Llama, 4 layers of 2048",
        hub.llama,
        text,
        {"batch": 4, "length": 1024, "words": 32000, "width": 2048, "hidden": 5632, "layers": 4, "heads": 16},
        SMALL,
    ),
    "t5": Model("T5-base encoder", hub.t5_encoder, text, {"batch": 16, "length": 512, "words": 32128, **BASE}, SMALL),
    "vit": Model(
        "ViT-B/16",
        hub.vit,
        images,
        {"batch": 64, "image": 224, "patch": 16, "classes": 1000, **BASE},
        {**SMALL_IMAGE, "patch": 8, "width": 32, "hidden": 64, "layers": 2, "heads": 2},
    ),
    "swin": Model(
        "Swin-T",
        hub.swin,
        images,
        {"batch": 64, "image": 224, "patch": 4, "window": 7, "width": 96, "stages": 4, "classes": 1000},
        {**SMALL_IMAGE, "patch": 2, "window": 4, "width": 12, "stages": 2},
    ),
    "mixer": Model(
        "MLP-Mixer-B/16",
        lambda s: plain.Mixer(s["image"], s["patch"], s["width"], s["layers"], s["classes"]),
        images,
        {"batch": 64, "image": 224, "patch": 16, "width": 768, "layers": 12, "classes": 1000},
        {**SMALL_IMAGE, "patch": 8, "width": 32, "layers": 2},
    ),
    "prenorm_mlp": Model(
        "pre-norm MLP",
        lambda s: plain.PreNormMlp(s["width"], s["hidden"]),
        rows,
        {"rows": 4096, "width": 4096, "hidden": 16384},
        {"rows": 16, "width": 32, "hidden": 64},
        inside=True,
    ),
    "swiglu": Model(
        "SwiGLU",
        lambda s: plain.SwiGlu(s["width"], s["hidden"]),
        rows,
        {"rows": 4096, "width": 4096, "hidden": 11008},
        {"rows": 16, "width": 32, "hidden": 64},
        inside=True,
    ),
    "geglu": Model(
        "packed GEGLU",
        lambda s: plain.PackedGeGlu(s["width"], s["hidden"]),
        rows,
        {"rows": 4096, "width": 4096, "hidden": 8192},
        {"rows": 16, "width": 32, "hidden": 64},
        inside=True,
    ),
    "recommender": Model(
        "recommender MLP, training batch norm",
        lambda s: plain.Recommender(s["width"], (2 * s["width"], s["width"], s["width"] // 2)),
        rows,
        {"rows": 65536, "width": 512},
        {"rows": 64, "width": 32},
        parts=1,
        train=True,
    ),
    "nerf": Model(
        "NeRF MLP, 8 layers",
        lambda s: plain.Nerf(s["width"]),
        lambda s: [Normal((s["rows"], 63)), Normal((s["rows"], 27))],
        {"rows": 262144, "width": 256},
        {"rows": 64, "width": 32},
    ),
    "lora": Model(
        "LoRA",
        lambda s: plain.Lora(s["width"], s["rank"]),
        rows,
        {"rows": 4096, "width": 4096, "rank": 16},
        {"rows": 16, "width": 32, "rank": 4},
        inside=True,
    ),
    "classifier": Model(
        "classifier, log_softmax",
        lambda s: plain.Classifier(s["width"], s["hidden"], s["classes"]),
        rows,
        {"rows": 8192, "width": 2048, "hidden": 4096, "classes": 10000},
        {"rows": 16, "width": 32, "hidden": 64, "classes": 24},
    ),
    "linear_act": Model(
        "linear, x 2, LeakyReLU",
        lambda s: plain.LinearAct(s["width"]),
        rows,
        {"rows": 1024, "width": 8192},
        {"rows": 16, "width": 32},
        inside=True,
    ),
    "linear_norm": Model(
        "linear, scale, training batch norm",
        lambda s: plain.LinearNorm(s["width"]),
        rows,
        {"rows": 16384, "width": 4096},
        {"rows": 64, "width": 32},
        parts=1,
        inside=True,
        train=True,
    ),
    "gelu_mlp": Model(
        "GELU MLP",
        lambda s: plain.MixerMlp(s["width"], s["hidden"]),
        rows,
        {"rows": 8192, "width": 1024, "hidden": 4096},
        {"rows": 16, "width": 32, "hidden": 64},
        inside=True,
    ),
    "gelu_mlp_wide": Model(
        "GELU MLP of 4096",
        lambda s: plain.MixerMlp(s["width"], s["hidden"]),
        rows,
        {"rows": 8192, "width": 4096, "hidden": 16384},
        {"rows": 16, "width": 32, "hidden": 64},
        inside=True,
    ),
    **{f"swiglu_{count}": _swiglu(count) for count in (1, 8, 64, 8192)},
    "geglu_8192": Model(
        "packed GEGLU of 2048",
        lambda s: plain.PackedGeGlu(s["width"], s["hidden"]),
        rows,
        {"rows": 8192, "width": 2048, "hidden": 8192},
        {"rows": 16, "width": 32, "hidden": 64},
        inside=True,
    ),
    **{f"projections_{count}": _projections(count) for count in (8, 4096)},
}
