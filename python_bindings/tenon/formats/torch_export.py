# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a file of torch.export's to one MLIR function of tenon ops."""

from __future__ import annotations

from pathlib import Path

import torch

from tenon.formats.model import Model
from tenon.torch.ahead_of_time.exporter import export_program
from tenon.torch.options import Options


def load(path: Path, precision: str | None = None) -> Model:
    """Return the model in a .pt2 file, as `tenon.torch.export` writes one."""
    exported = export_program(torch.export.load(path), Options(precision=precision).linear_precision())
    return Model(exported.text, exported.parameters)
