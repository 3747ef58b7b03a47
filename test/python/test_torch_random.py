# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random PyTorch modules, by a seed that the run's summary names; TENON_SEED=N takes N. fuzz/models.py runs more."""

import os

import pytest

pytest.importorskip("torch")
pytest.importorskip("tenon.torch")
from torch_models.check import FRONT_ENDS
from torch_models.random_programs import Drawn

SEED = int(os.environ.get("TENON_SEED", "0"))  # conftest.py draws it


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("offset", range(50))
def test_random_program(offset, front_end):
    drawn = Drawn(SEED + offset)
    try:
        drawn.check(front_end)
    except Exception as error:
        raise AssertionError(f"TENON_SEED={SEED}: {drawn}") from error
