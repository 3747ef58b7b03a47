# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often float32 products took the slower path, as Python sees it; what a GPU counts is tested there."""

from types import SimpleNamespace

import pytest
import tenon

torch = pytest.importorskip("torch")
import tenon.torch as tt  # noqa: E402
from tenon.torch.calls.call import FusedCall  # noqa: E402
from torch_models import MODELS  # noqa: E402


class Model:
    """Stands in for a loaded model that has run on GPUs 0 and 2."""

    def rows_outside(self, device_type, device_id):
        """Return the counts of the GPUs, told apart by their digits."""
        assert device_type == 2
        return {0: 5, 2: 300}[device_id]


def executable_of(model):
    """Return an executable around a stand-in, not opened from a file."""
    executable = object.__new__(tenon.Executable)
    executable.model = model
    return executable


def test_an_executable_asks_its_model():
    executable = executable_of(Model())
    assert executable.rows_outside() == 5
    assert executable.rows_outside(2) == 300


def test_nothing_is_counted_on_the_cpu(front_end):
    model = MODELS["two_linears"]
    compiled = front_end(model.build())
    with torch.no_grad():
        for _ in range(3):
            compiled(*model.inputs())
    assert tt.rows_outside() == 0


def test_all_calls_that_are_alive_count_on_all_gpus():
    calls = [FusedCall(SimpleNamespace(name="f"), executable_of(Model())) for _ in range(2)]
    calls[0]._bound = dict.fromkeys([-1, 0])  # -1 is the CPU
    calls[1]._bound = dict.fromkeys([0, 2])
    assert tt.rows_outside() == 5 + 305
    calls.pop()
    assert tt.rows_outside() == 5
    calls.append(FusedCall(SimpleNamespace(name="g"), calls[0].executable))
    calls[1]._bound = dict.fromkeys([0])
    assert tt.rows_outside() == 5  # one model serves both
    calls.clear()
    assert tt.rows_outside() == 0
