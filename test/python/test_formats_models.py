# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-import of whole models in the files of several exporters, each against its own runtime, at 1e-5."""

import contextlib
import io

import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from imported_models import as_given, assert_close, compare, import_file  # noqa: E402
from torch import nn  # noqa: E402

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def library(name, configuration, **config):
    """Return a model of transformers without weights of its own; it gives tuples."""
    transformers = pytest.importorskip("transformers")
    model = getattr(transformers, name)(getattr(transformers, configuration)(**config)).eval()
    model.config.return_dict = False
    return model


def vit():
    return library("ViTModel", "ViTConfig", image_size=16, patch_size=4, **SIZES), (torch.randn(2, 3, 16, 16),)


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
    "vit": vit,
    "encoder": encoder,
    "gru": recurrent("GRU"),
    "lstm": recurrent("LSTM"),
    "rnn": recurrent("RNN"),
    "two_ways": recurrent("GRU", bidirectional=True),
    "two_layers": recurrent("LSTM", num_layers=2),
}
LEGACY = DYNAMO = sorted(MODELS)


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


@pytest.mark.parametrize("name", DYNAMO)
def test_torch_onnx(name, tmp_path):
    pytest.importorskip("onnxscript")
    feeds = export_onnx(name, tmp_path / "model.onnx", dynamo=True)
    compare(tmp_path / "model.onnx", tmp_path, feeds=feeds)


@pytest.mark.parametrize("name", LEGACY)
def test_torch_onnx_by_tracing(name, tmp_path):
    feeds = export_onnx(name, tmp_path / "model.onnx", dynamo=False)
    compare(tmp_path / "model.onnx", tmp_path, feeds=feeds)


@pytest.mark.parametrize("name", ["vit", "gru", "encoder"])
def test_torch_export(name, tmp_path):
    pytest.importorskip("onnxscript")
    model, inputs = make(name)
    torch.export.save(torch.export.export(model, inputs), tmp_path / "model.pt2")
    executable = import_file(tmp_path / "model.pt2", tmp_path)
    with torch.no_grad():
        expected = model(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert_close(executable(*map(as_given, inputs)), expected)
