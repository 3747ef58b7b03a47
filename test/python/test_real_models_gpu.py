# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiny real models on a GPU: every layer fused, and with users' defaults, where layers are timed.

Needs torch with CUDA, transformers and an installed `tenon`; no build tree.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from real_models import DEFAULT_FRONT_ENDS, ZOO, compare_inference, compare_training  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


@pytest.fixture(params=ZOO)
def kind(request):
    kind = ZOO[request.param]
    if kind.package:
        pytest.importorskip(kind.package)
    return kind


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layer_fused(kind, dtype, compiled):
    """Whatever Tenon has words for runs in its kernels, and the rest op by op."""
    compare_inference(kind, DEFAULT_FRONT_ENDS["compile"], DTYPES[dtype], "cuda")
    assert compiled.sources or not kind.fused


@pytest.mark.defaults
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", DEFAULT_FRONT_ENDS)
def test_inference(kind, way, dtype):
    compare_inference(kind, DEFAULT_FRONT_ENDS[way], DTYPES[dtype], "cuda")


@pytest.mark.defaults
@pytest.mark.parametrize("dtype", DTYPES)
def test_training(kind, dtype):
    compare_training(kind, DEFAULT_FRONT_ENDS["compile"], DTYPES[dtype], "cuda")
