# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tenon.torch.export` and `tenon.torch.aot_compile`: models for use without Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from torch.export import ExportedProgram

from tenon import compiler, safetensors
from tenon.executable import Executable
from tenon.torch.ahead_of_time.exporter import Exported, export_model, export_program
from tenon.torch.options import Options


def export(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Sequence[Any] | torch.Tensor = (),
    dynamic_batch: bool = False,
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    precision: str | None = None,
) -> str:
    """Return a model as MLIR text: a function @forward of `tenon` ops.

    Its arguments are the model's inputs, named as in `forward`, then the parameters and buffers
    that it uses, in the order of its state_dict and with its names (`bn.weight` becomes
    `bn_weight`), marked `tenon.param`. A buffer that the model changes, such as the running
    statistics of training batch norm, is an input without that mark, and its new value is the
    result `NAME_new`; num_batches_tracked is the caller's to count. The other results are called
    `y`, or `y0`, `y1`. Tensors have at most two dimensions: of one with more, all but the last
    become rows. A matrix of shape [K, N] that an input is multiplied by as it is (`x @ w`) is
    passed transposed, as [N, K].

    What Tenon has no word for is linalg, if onnx and onnxscript are installed, shapes are fixed, and
    the model neither draws random numbers nor changes buffers: then parameters are named and ordered
    as in ONNX, whole numbers are passed as float64, and CPUs alone run it.

    Args:
        model: exported as it is, in training mode or not; or what torch.export gave of one, which has its inputs
            and free dimensions already.
        example_inputs: the model's positional arguments, tensors of the dtypes and shapes to come; a
            tensor alone is the only one.
        dynamic_batch: whether the first dimension of every input of two or more is free, the same
            in all.
        example_kwargs: the model's keyword arguments; they are inputs as well, in this order.
        precision: of float32 products: "fp32", "tf32", "bf16" or "fp16"; by default as
            torch.get_float32_matmul_precision() says. Or "fp8", as `Options` says.

    Raises:
        tenon.UnsupportedError: Tenon has no word for some ops, which the message lists.
        Exception: whatever torch.export raises for a model that it cannot capture.

    """
    return _export(model, example_inputs, example_kwargs, dynamic_batch, precision).text


def aot_compile(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Sequence[Any] | torch.Tensor,
    path: str | os.PathLike[str],
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    dynamic_batch: bool = False,
    target: str | Sequence[str] | None = None,
    pack_parameters: bool = True,
    precision: str | None = None,
    **options: Unpack[compiler.Options],
) -> Executable:
    """Compile a model to the shared object `path` and the C header beside it, as tenon-compile does.

    Args:
        model: as for `export`.
        example_inputs: as for `export`; `()` for what torch.export gave.
        path: of the shared object, such as "libmodel.so".
        example_kwargs: as for `export`.
        dynamic_batch: as for `export`.
        target: "cpu" or GPU architectures such as "sm_90a", one or several; by default this machine's GPU.
        pack_parameters: whether the file holds the parameters' values, so that its function takes
            the inputs alone. Otherwise the caller gives the parameters in each call, and may have what
            depends on them computed once (in C: `NAME_forward_prepare`).
        precision: as for `export`.
        **options: as for `tenon.compile`. `name` is by default the file's name without "lib",
            with underscores for what C's names cannot have; programs look for `lib<name>.so`.

    Returns:
        the model, loaded from `path`. It takes and gives tensors as `export` describes them.

    Raises:
        tenon.UnsupportedError: Tenon has no word for some ops, which the message lists.
        tenon.CompileError: an option is not right, or a file could not be written.

    """
    exported = _export(model, example_inputs, example_kwargs, dynamic_batch, precision)
    with tempfile.TemporaryDirectory(prefix="tenon-") as folder:
        parameters = Path(folder, "parameters.safetensors")
        if pack_parameters:
            safetensors.write(parameters, exported.parameters)
        remarks = compiler.build(
            exported.text,
            path,
            target,
            parameters=parameters if pack_parameters and exported.parameters else "",
            **{**options, "name": options.get("name") or compiler.identifier_of(Path(path).stem.removeprefix("lib"))},
        )
    return Executable(path, remarks)


def _export(
    model: torch.nn.Module | ExportedProgram,
    example_inputs: Sequence[Any] | torch.Tensor,
    example_kwargs: Mapping[str, Any] | None,
    dynamic_batch: bool,
    precision: str | None,
) -> Exported:
    precision = Options(precision=precision).linear_precision()
    inputs = (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    if not isinstance(model, ExportedProgram):
        return export_model(model, inputs, dict(example_kwargs or {}), dynamic_batch, precision)
    if inputs or example_kwargs or dynamic_batch:
        raise ValueError("an ExportedProgram has its inputs and free dimensions; give none")
    return export_program(model, precision)
