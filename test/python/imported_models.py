# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of tenon-import share: a file becomes a library, which is compared with the file's own runtime."""

import numpy as np
import tenon
from tenon import compiler
from tenon.formats.cli import main


def import_file(path, folder, *options):
    """Import a file, and compile it with its parameters inside."""
    text = folder / "imported.mlir"
    assert main([str(path), "-o", str(text), *options]) == 0
    parameters = text.with_suffix(".safetensors")
    library = folder / "libimported.so"
    packed = parameters if parameters.exists() else ""
    compiler.build(text.read_text(), library, "cpu", parameters=packed, name="imported")
    return tenon.load(library)


def as_given(x):
    """Return an input as the library takes it: a matrix at most, and whole numbers as float64."""
    x = np.asarray(x)
    x = x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def assert_close(results, expected):
    """Compare results of float32, at 1e-5 of the largest element."""
    results = results if isinstance(results, tuple) else (results,)
    for ours, theirs in zip(results, expected, strict=True):
        theirs = np.asarray(theirs)
        scale = max(np.abs(theirs).max(), 1.0)
        np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=1e-5, atol=1e-5 * scale)


def compare(path, folder, *options, outputs=None, rows=5, feeds=None, seed=0):
    """Run an ONNX model by Tenon and by onnxruntime on the same inputs."""
    import onnxruntime

    executable = import_file(path, folder, *options)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(seed)
    feeds = feeds or {
        i.name: random.normal(size=[extent if isinstance(extent, int) else rows for extent in i.shape]).astype(
            np.float32
        )
        for i in session.get_inputs()
    }
    assert_close(executable(*map(as_given, feeds.values())), session.run(outputs, feeds))
