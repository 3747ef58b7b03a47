# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every model of the zoo, compiled by each front end, is what it is in eager mode, and is fused as expected."""

import pytest

torch = pytest.importorskip("torch")
from torch_models import MODELS  # noqa: E402
from torch_models.check import FRONT_ENDS, Comparison  # noqa: E402


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_model(front_end, name, compiled):
    """Results, inputs, buffers and random numbers are eager's in four calls; the expected linears are fused."""
    model = MODELS[name]
    comparison = Comparison(model.build(), FRONT_ENDS[front_end])
    with torch.no_grad():
        for seed in (1, 2):
            comparison.step(*model.inputs(seed=seed))
    assert (compiled.linears, len(compiled.sources)) == (model.fused, model.calls)


def test_zoo_is_large_enough():
    assert len(MODELS) >= 44
