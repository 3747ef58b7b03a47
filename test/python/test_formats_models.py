# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-import of whole models in the files of several exporters, each against its own runtime, at 1e-5."""

import contextlib
import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from imported_models import as_given, assert_close, compare, import_file  # noqa: E402
from torch import nn  # noqa: E402

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
IDS = (2, 9)


def library(name, configuration, **config):
    """Return a model of transformers without weights of its own; it gives tuples."""
    transformers = pytest.importorskip("transformers")
    model = getattr(transformers, name)(getattr(transformers, configuration)(**config)).eval()
    model.config.return_dict = False
    return model


def ids():
    return (torch.randint(0, 100, IDS),)


def bert():
    return library("BertModel", "BertConfig", vocab_size=100, max_position_embeddings=32, **SIZES), ids()


def masked_bert():
    mask = torch.ones(IDS, dtype=torch.int64)
    mask[1, 6:] = 0
    return bert()[0], (*ids(), mask)


def vit():
    return library("ViTModel", "ViTConfig", image_size=16, patch_size=4, **SIZES), (torch.randn(2, 3, 16, 16),)


def gpt2():
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32, "vocab_size": 100}
    return library("GPT2Model", "GPT2Config", use_cache=False, **sizes), ids()


def llama():
    return library("LlamaModel", "LlamaConfig", vocab_size=100, num_key_value_heads=2, use_cache=False, **SIZES), ids()


def t5():
    sizes = {"vocab_size": 100, "d_model": 32, "d_kv": 8, "num_layers": 2, "num_heads": 4, "d_ff": 64}
    return library("T5EncoderModel", "T5Config", **sizes), ids()


def encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), (torch.randn(2, 9, 32),)


class Recurrent(nn.Module):
    """A recurrent layer and a linear one."""

    def __init__(self, kind, **options):
        super().__init__()
        self.first = getattr(nn, kind)(12, 16, batch_first=True, **options)
        self.second = nn.Linear(32 if options.get("bidirectional") else 16, 4)

    def forward(self, x):
        return self.second(self.first(x)[0])


def recurrent(kind, **options):
    return lambda: (Recurrent(kind, **options).eval(), (torch.randn(3, 5, 12),))


MODELS = {
    "bert": bert,
    "masked_bert": masked_bert,
    "vit": vit,
    "gpt2": gpt2,
    "llama": llama,
    "t5": t5,
    "encoder": encoder,
    "gru": recurrent("GRU"),
    "lstm": recurrent("LSTM"),
    "rnn": recurrent("RNN"),
    "two_ways": recurrent("GRU", bidirectional=True),
    "two_layers": recurrent("LSTM", num_layers=2),
}
# By what exports them; the tracer does not take the models of transformers 5 that make masks, the other not t5.
BY_DYNAMO = ["bert", "encoder", "gpt2", "gru", "llama", "masked_bert", "two_ways", "vit"]
BY_TRACING = ["encoder", "lstm", "rnn", "t5", "two_layers", "vit"]
BY_TORCH_EXPORT = ["bert", "gru", "vit"]


def make(name):
    torch.manual_seed(0)
    return MODELS[name]()


def export_onnx(name, path, dynamo):
    model, inputs = make(name)
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(model, inputs, str(path), dynamo=dynamo)
    import onnx

    names = [i.name for i in onnx.load(path).graph.input]
    return dict(zip(names, (x.numpy() for x in inputs), strict=True))


@pytest.mark.parametrize("name", BY_DYNAMO)
def test_torch_onnx(name, tmp_path):
    pytest.importorskip("onnxscript")
    feeds = export_onnx(name, tmp_path / "model.onnx", dynamo=True)
    compare(tmp_path / "model.onnx", tmp_path, feeds=feeds)


@pytest.mark.parametrize("name", BY_TRACING)
def test_torch_onnx_by_tracing(name, tmp_path):
    feeds = export_onnx(name, tmp_path / "model.onnx", dynamo=False)
    compare(tmp_path / "model.onnx", tmp_path, feeds=feeds)


@pytest.mark.parametrize("name", BY_TORCH_EXPORT)
def test_torch_export(name, tmp_path):
    pytest.importorskip("onnxscript")
    model, inputs = make(name)
    torch.export.save(torch.export.export(model, inputs), tmp_path / "model.pt2")
    executable = import_file(tmp_path / "model.pt2", tmp_path)
    with torch.no_grad():
        expected = model(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert_close(executable(*map(as_given, inputs)), expected)


def test_jax_attention(tmp_path):
    """A block of attention, of rank 4, and an embedding."""
    pytest.importorskip("torch_mlir")
    jax = pytest.importorskip("jax")
    from jax import export
    from jax import numpy as jnp

    random = np.random.default_rng(0)
    table = random.normal(size=(50, 32)).astype(np.float32)
    weights = [random.normal(size=(32, 32)).astype(np.float32) / 6 for _ in range(4)]

    def forward(ids, bias):
        x = jnp.asarray(table)[ids]
        q, k, v = ((x @ w).reshape(2, 9, 4, 8).transpose(0, 2, 1, 3) for w in weights[:3])
        scores = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / 8**0.5 + bias, -1)
        x = x + (scores @ v).transpose(0, 2, 1, 3).reshape(2, 9, 32) @ weights[3]
        return jax.nn.gelu((x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5))

    given = random.integers(0, 50, (2, 9)).astype(np.int32), random.normal(size=(2, 1, 9, 9)).astype(np.float32)
    exported = export.export(jax.jit(forward))(*(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given))
    (tmp_path / "model.stablehlo.mlir").write_text(exported.mlir_module())
    executable = import_file(tmp_path / "model.stablehlo.mlir", tmp_path)
    assert "tenon.linear" in (tmp_path / "imported.mlir").read_text()
    assert_close(executable(*map(as_given, given)), [forward(*given)])
