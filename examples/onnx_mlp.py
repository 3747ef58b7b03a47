# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two layers as an ONNX file, as exporters write them: `onnx_mlp.py MODEL.onnx`, for tenon-import.

With an array of inputs beside, `onnx_mlp.py MODEL.onnx X.npy Y.npy` says how far the results Y are from ONNX's own
reference.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def model() -> onnx.ModelProto:
    """Return y = gelu(x w0^T + b0) w1^T + b1 of any number of rows."""
    random = np.random.default_rng(0)
    weights = {"w0": (256, 64), "b0": (256,), "w1": (32, 256), "b1": (32,)}
    arrays = {name: random.normal(size=shape, scale=0.1).astype(np.float32) for name, shape in weights.items()}
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["z"], transB=1),
        helper.make_node("Gelu", ["z"], ["h"]),
        helper.make_node("Gemm", ["h", "w1", "b1"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 32])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


if len(sys.argv) == 2:
    onnx.save(model(), sys.argv[1])
    np.save(f"{sys.argv[1]}.x.npy", np.random.default_rng(1).normal(size=(8, 64)).astype(np.float32))
else:
    x, y = map(np.load, sys.argv[2:])
    (expected,) = ReferenceEvaluator(sys.argv[1]).run(None, {"x": x})
    error = float(np.abs(y - expected).max())
    print(f"largest difference from ONNX's reference: {error:.1e}")
    sys.exit(error > 1e-5)
