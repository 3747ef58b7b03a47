# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-import of torch.export's files and of StableHLO, against PyTorch and JAX; the command line."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tenon = pytest.importorskip("tenon")

from imported_models import import_file  # noqa: E402
from tenon.formats.cli import main  # noqa: E402
from torch import nn  # noqa: E402


def test_exported_program(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8), nn.Softmax(-1)).eval()
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(model, (torch.randn(4, 16),), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "model.pt2")
    executable = import_file(tmp_path / "model.pt2", tmp_path)
    x = torch.randn(7, 16)
    with torch.no_grad():
        torch.testing.assert_close(executable(x), model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_jax(is_dynamic, tmp_path):
    pytest.importorskip("torch_mlir")
    jax = pytest.importorskip("jax")
    from jax import export
    from jax import numpy as jnp

    random = np.random.default_rng(0)
    layers = [
        (random.normal(size=(k, n)).astype(np.float32) / k**0.5, random.normal(size=n).astype(np.float32))
        for k, n in [(16, 32), (32, 24), (24, 8)]
    ]

    def forward(x):
        for w, b in layers[:-1]:
            x = jax.nn.gelu(x @ w + b)
        w, b = layers[-1]
        x = x @ w + b
        x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return jax.nn.log_softmax(jax.nn.relu(x) * jax.nn.silu(x) + jax.nn.leaky_relu(x, 0.1))

    rows = export.symbolic_shape("m")[0] if is_dynamic else 5
    exported = export.export(jax.jit(forward))(jax.ShapeDtypeStruct((rows, 16), jnp.float32))
    (tmp_path / "model.stablehlo.mlir").write_text(exported.mlir_module())
    executable = import_file(tmp_path / "model.stablehlo.mlir", tmp_path)
    text = (tmp_path / "imported.mlir").read_text()
    assert "linalg." not in text and text.count("tenon.linear") == 3 and text.count("tenon.gelu") == 2
    x = random.normal(size=(5, 16)).astype(np.float32)
    np.testing.assert_allclose(executable(x), np.asarray(forward(x)), rtol=1e-5, atol=1e-5)


def test_command_line(tmp_path, capsys):
    for arguments, message in [
        (["model.pb"], "has none of the endings .onnx, .pt2, .mlir"),
        ([str(tmp_path / "model.mlir")], "would be overwritten; give another file with -o"),
        (["model.onnx", "--precision=fp8"], "invalid choice: 'fp8'"),
        (["model.onnx", "--extent=b=99999999999"], "is not NAME=NUMBER, of 1 to 2147483647"),
        (["model.onnx", "-o", "model.safetensors"], "would be overwritten by the parameters"),
        (["model.pt2", "--extent=b=2"], "--output and --extent are of ONNX"),
    ]:
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err


def test_package_that_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main([str(tmp_path / "model.onnx")]) == 1
    assert ".onnx needs onnx: pip install onnx" in capsys.readouterr().err


def test_file_that_is_damaged(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("TENON_STRICT", raising=False)
    (tmp_path / "model.pt2").write_bytes(b"not a model")
    assert main([str(tmp_path / "model.pt2")]) == 1
    found = capsys.readouterr().err
    assert "as .pt2 (" in found and "Traceback" not in found
    assert not (tmp_path / "model.mlir").exists()
