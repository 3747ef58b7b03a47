# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every model of the zoo, compiled by each front end, is what it is in eager mode, and is fused as expected."""

import pytest

torch = pytest.importorskip("torch")
from torch_models import MODELS  # noqa: E402
from torch_models.check import FRONT_ENDS, Comparison  # noqa: E402

# In the ops that optimize records, the second batch norm writes the statistics that the first one wrote.
NOT_FUSED = {("optimize", "bn_shared"): pytest.mark.xfail(reason="statistics written twice", strict=True)}


@pytest.mark.parametrize(
    ("front_end", "name"),
    [pytest.param(f, n, marks=NOT_FUSED.get((f, n), ())) for f in FRONT_ENDS for n in MODELS],
)
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
