# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command tenon-import."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import tenon
from tenon import safetensors
from tenon.errors import TenonError, is_strict_process
from tenon.formats.model import Model
from tenon.importer.builder import InexpressibleError

_PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# By a file's ending: the kind, and the module and the package that read it.
_NEEDS = {
    ".onnx": ("onnx", "onnx"),
    ".pt2": ("torch", "torch"),
    ".mlir": ("torch_mlir", "torch-mlir"),
}


def _extent(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.isdecimal() or not 0 < int(number) < 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=NUMBER, of 1 to {2**31 - 1}")
    return name, int(number)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="tenon-import",
        description="Writes a model of another framework as MLIR of tenon ops, and its parameters beside it, for "
        "tenon-compile --parameters.",
        epilog="Tensors of the function have at most two dimensions: of one with more, all but the last become rows. "
        "Whole numbers are passed as float64.",
    )
    parser.add_argument("model", type=Path, help="model.onnx, model.pt2 (torch.export.save), or StableHLO text, .mlir")
    parser.add_argument("-o", "--out", type=Path, metavar="MODEL.mlir", help="default: beside the model, NAME.mlir")
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="NAME",
        help="of ONNX: import what gives this one; several times",
    )
    parser.add_argument(
        "--extent",
        action="append",
        default=[],
        type=_extent,
        metavar="NAME=NUMBER",
        help="of ONNX: what a dynamic extent of the inputs is; several times",
    )
    parser.add_argument(
        "--precision", choices=_PRECISIONS, help="of float32 products (default: fp32, or as in the file)"
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {tenon.__version__}")
    options = parser.parse_args(arguments)
    if options.model.suffix not in _NEEDS:
        parser.error(f"'{options.model}' has none of the endings {', '.join(_NEEDS)}")
    if options.model.suffix != ".onnx" and (options.output or options.extent):
        parser.error(f"--output and --extent are of ONNX, and '{options.model}' is not")
    stem = options.model.name.split(".")[0] if options.model.suffix == ".mlir" else options.model.stem
    options.out = options.out or options.model.with_name(f"{stem}.mlir")
    if options.out.suffix == ".safetensors":
        parser.error(f"'{options.out}' would be overwritten by the parameters; give a name that ends in .mlir with -o")
    if options.out.resolve() == options.model.resolve():
        parser.error(f"'{options.model}' would be overwritten; give another file with -o")
    return options


def load(options: argparse.Namespace) -> Model:
    """Read the file."""
    if options.model.suffix == ".onnx":
        from tenon.formats import onnx_graph

        return onnx_graph.load(options.model, options.output, options.precision, dict(options.extent))
    if options.model.suffix == ".pt2":
        from tenon.formats import torch_export

        return torch_export.load(options.model, options.precision)
    from tenon.formats import stablehlo

    return stablehlo.load(options.model)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    options = parse(arguments)
    module, package = _NEEDS[options.model.suffix]
    if importlib.util.find_spec(module) is None:
        print(f"tenon-import: error: {options.model.suffix} needs {package}: pip install {package}", file=sys.stderr)
        return 1
    try:
        model = load(options)
        if model.parameters:
            safetensors.write(options.out.with_suffix(".safetensors"), model.parameters)
        options.out.write_text(model.text)
    except (OSError, TenonError) as error:
        print(f"tenon-import: error: {error}", file=sys.stderr)
        return 1
    except InexpressibleError as error:
        print(f"tenon-import: error: {options.model}: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # whatever a file that is damaged, or no such file, has its readers raise
        if is_strict_process():
            raise
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        print(
            f"tenon-import: error: cannot read {options.model} as {options.model.suffix} ({problem[:300]}); if others "
            "can, report it with the traceback that TENON_STRICT=1 shows",
            file=sys.stderr,
        )
        return 1
    print(f"wrote {options.out}")
    if model.parameters:
        print(f"wrote {options.out.with_suffix('.safetensors')}: {len(model.parameters)} parameters")
    return 0
