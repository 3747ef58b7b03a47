# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer in an ONNX file: imported, compiled for the CPU, and compared with onnxruntime."""

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import tenon
import torch
from tenon import compiler
from tenon.formats import cli
from torch import nn


def main() -> None:
    """Export, import, compile, load and compare."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(2, 16, 64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.onnx"
        torch.onnx.export(model, (x,), str(path), dynamo=True, verbose=False)
        cli.main([str(path)])  # tenon-import encoder.onnx
        text, parameters = path.with_suffix(".mlir").read_text(), path.with_suffix(".safetensors")
        library = path.with_name("libencoder.so")
        compiler.build(text, library, "cpu", parameters=parameters, name="encoder")  # tenon-compile
        print(f"{text.count('tenon.linear')} linear layers, {library.stat().st_size} bytes")
        ours = tenon.load(library)(x.flatten(0, 1).numpy())  # all dimensions but the last are rows
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        theirs = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    difference = np.abs(ours - theirs.reshape(ours.shape)).max()
    print(f"largest difference from onnxruntime: {difference:.1e}, of values up to {np.abs(theirs).max():.1f}")


if __name__ == "__main__":
    main()
