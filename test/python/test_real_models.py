# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiny real models by each front end: results, gradients and buffers are as near to float64 as eager's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon")
from real_models import FRONT_ENDS, ZOO, compare_inference, compare_training  # noqa: E402

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@pytest.fixture(params=ZOO)
def kind(request):
    kind = ZOO[request.param]
    if kind.package:
        pytest.importorskip(kind.package)
    return kind


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", FRONT_ENDS)
def test_inference(kind, way, dtype, compiled):
    compare_inference(kind, FRONT_ENDS[way], DTYPES[dtype])
    assert compiled.sources or not kind.fused


# Through `optimize` a training step is what it is through torch.compile, so that one dtype will do.
@pytest.mark.parametrize(("way", "dtype"), [("compile", "f32"), ("compile", "bf16"), ("optimize", "f32")])
def test_training(kind, way, dtype):
    compare_training(kind, FRONT_ENDS[way], DTYPES[dtype])
