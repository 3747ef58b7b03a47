# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of the package transformers, of random weights and without dropout; each returns one tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

Sizes = Mapping[str, int]


class Output(nn.Module):
    """A model of transformers that gives one of its outputs."""

    def __init__(self, model: nn.Module, field: str = "last_hidden_state") -> None:
        """Keep both."""
        super().__init__()
        self.model, self.field = model, field

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output."""
        return getattr(self.model(x), self.field)


def encoder_sizes(s: Sizes) -> dict[str, Any]:
    """Return what several configurations call alike."""
    return {
        "hidden_size": s["width"],
        "num_hidden_layers": s["layers"],
        "num_attention_heads": s["heads"],
        "intermediate_size": s["hidden"],
    }


def bert(s: Sizes) -> nn.Module:
    """Return BERT without its pooling layer."""
    from transformers import BertConfig, BertModel

    config = BertConfig(
        **encoder_sizes(s),
        vocab_size=s["words"],
        max_position_embeddings=s["length"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Output(BertModel(config, add_pooling_layer=False))


def gpt2(s: Sizes) -> nn.Module:
    """Return GPT-2 without its head, which makes no use of a cache."""
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(
        n_embd=s["width"],
        n_layer=s["layers"],
        n_head=s["heads"],
        n_inner=s["hidden"],
        n_positions=s["length"],
        vocab_size=s["words"],
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    return Output(GPT2Model(config))


def llama(s: Sizes) -> nn.Module:
    """Return Llama without its head, which makes no use of a cache."""
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        **encoder_sizes(s), vocab_size=s["words"], max_position_embeddings=s["length"], use_cache=False
    )
    return Output(LlamaModel(config))


def t5_encoder(s: Sizes) -> nn.Module:
    """Return T5's encoder."""
    from transformers import T5Config, T5EncoderModel

    config = T5Config(
        d_model=s["width"],
        d_ff=s["hidden"],
        d_kv=s["width"] // s["heads"],
        num_layers=s["layers"],
        num_heads=s["heads"],
        vocab_size=s["words"],
        dropout_rate=0.0,
        use_cache=False,
    )
    return Output(T5EncoderModel(config))


def vit(s: Sizes) -> nn.Module:
    """Return ViT with its head."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        **encoder_sizes(s),
        image_size=s["image"],
        patch_size=s["patch"],
        num_labels=s["classes"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Output(ViTForImageClassification(config), "logits")


def swin(s: Sizes) -> nn.Module:
    """Return Swin with its head: Swin-T, or two stages where `stages` is 2."""
    from transformers import SwinConfig, SwinForImageClassification

    depths, heads = [2, 2, 6, 2], [3, 6, 12, 24]
    config = SwinConfig(
        image_size=s["image"],
        patch_size=s["patch"],
        window_size=s["window"],
        embed_dim=s["width"],
        depths=depths[: s["stages"]],
        num_heads=heads[: s["stages"]],
        num_labels=s["classes"],
        drop_path_rate=0.0,
    )
    return Output(SwinForImageClassification(config), "logits")
