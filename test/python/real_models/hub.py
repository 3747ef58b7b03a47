# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiny models of transformers beside those of benchmarks/whole_models, each giving one tensor."""

import torch
from torch import nn
from whole_models import transformers_models

SIZES = {"length": 16, "width": 32, "hidden": 64, "layers": 2, "heads": 4, "words": 64}
COMMON = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 64,
}


class Both(nn.Module):
    """An encoder and decoder that read the same ids."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, decoder_input_ids=ids.flip(1)).last_hidden_state


def bert(attention):
    """Return BERT with a kind of attention."""
    module = transformers_models.bert(SIZES)
    module.model.set_attn_implementation(attention)
    return module


def t5():
    """Return T5, encoder and decoder."""
    from transformers import T5Config, T5Model

    config = T5Config(
        d_model=32,
        d_ff=64,
        d_kv=8,
        num_layers=1,
        num_heads=4,
        vocab_size=64,
        dropout_rate=0.0,
        use_cache=False,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )
    return Both(T5Model(config))


def clip_text():
    """Return CLIP's encoder of text."""
    from transformers import CLIPTextConfig, CLIPTextModel

    ids = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    return transformers_models.Output(CLIPTextModel(CLIPTextConfig(**COMMON, max_position_embeddings=16, **ids)))


def whisper_encoder():
    """Return Whisper's encoder of 32 frames."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        d_model=32,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_ffn_dim=64,
        num_mel_bins=8,
        max_source_positions=16,
        dropout=0.0,
        decoder_layers=1,
        vocab_size=64,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return transformers_models.Output(WhisperEncoder(config))


def llama():
    """Return Llama, two heads of queries for each of keys."""
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(**COMMON, num_key_value_heads=2, max_position_embeddings=32, use_cache=False)
    return transformers_models.Output(LlamaModel(config))


def mixtral():
    """Return a mixture of four experts, two for each token."""
    from transformers import MixtralConfig, MixtralModel

    config = MixtralConfig(
        **COMMON,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=32,
        use_cache=False,
        sliding_window=None,
    )
    return transformers_models.Output(MixtralModel(config))


def mamba():
    """Return Mamba in plain PyTorch."""
    from transformers import MambaConfig, MambaModel

    config = MambaConfig(
        vocab_size=64, hidden_size=16, state_size=4, num_hidden_layers=2, conv_kernel=4, use_cache=False
    )
    return transformers_models.Output(MambaModel(config))


def causal_llama():
    """Return Llama with its head and a cache, for generation."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        **COMMON,
        num_key_value_heads=2,
        max_position_embeddings=32,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    with torch.device("cpu"):
        return LlamaForCausalLM(config)
