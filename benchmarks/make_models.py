#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a benchmark's model as MLIR: the models of examples/ at any shape, type and precision.

For instance:
  benchmarks/make_models.py leaky_relu -m 1024 -n 8192 -k 8192 --dtype bf16 -o model.mlir
  benchmarks/make_models.py scale_batch_norm -m 16384 -n 4096 -k 4096 --precision tf32
  benchmarks/make_models.py linear -m dynamic -n 128 -k 128
"""

import argparse
import sys
from pathlib import Path

DTYPES = ("f32", "f16", "bf16", "f64")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")


class Types:
    """The types that a model of one shape and element type needs."""

    def __init__(self, m: str, n: int, k: int, dtype: str) -> None:
        """Spell the types of activations, weight, features and statistics."""
        self.x = f"tensor<{m}x{k}x{dtype}>"
        self.w = f"tensor<{n}x{k}x{dtype}>"
        self.y = f"tensor<{m}x{n}x{dtype}>"
        self.features = f"tensor<{n}x{dtype}>"
        # Batch norm keeps f32 parameters and statistics beside 16-bit activations, as torch.autocast does.
        self.statistics = f"tensor<{n}x{'f64' if dtype == 'f64' else 'f32'}>"


def function(arguments: dict[str, tuple[str, bool]], results: dict[str, str], body: list[str]) -> str:
    """Spell `@forward`: arguments are name -> (type, is it a parameter?), results name -> type."""

    def argument(name: str, kind: str, parameter: bool) -> str:
        return f'    %{name}: {kind} {{tenon.name = "{name}"{", tenon.param" if parameter else ""}}}'

    inputs = ",\n".join(argument(name, *rest) for name, rest in arguments.items())
    outputs = ", ".join(f'{kind} {{tenon.name = "{name}"}}' for name, kind in results.items())
    lines = "\n".join(f"  {line}" for line in body)
    return f"func.func @forward(\n{inputs})\n    -> ({outputs}) {{\n{lines}\n}}\n"


def linear_arguments(t: Types) -> dict[str, tuple[str, bool]]:
    """Give the arguments that every model has."""
    return {"x": (t.x, False), "weight": (t.w, True), "bias": (t.features, True)}


def linear_line(t: Types, precision: str) -> str:
    """Spell the product with its bias, `%0`."""
    return f"%0 = tenon.linear %x, %weight, %bias{precision} : ({t.x}, {t.w}, {t.features}) -> {t.y}"


def linear(t: Types, precision: str) -> str:
    """Write the layer alone."""
    return function(linear_arguments(t), {"y": t.y}, [linear_line(t, precision), f"return %0 : {t.y}"])


def leaky_relu(t: Types, precision: str) -> str:
    """Write the layer, times 2, then LeakyReLU."""
    body = [
        linear_line(t, precision),
        f"%1 = tenon.mul %0, 2.0 : {t.y}",
        f"%2 = tenon.leaky_relu %1 {{negative_slope = 0.1}} : {t.y}",
        f"return %2 : {t.y}",
    ]
    return function(linear_arguments(t), {"y": t.y}, body)


def scale_batch_norm(t: Types, precision: str) -> str:
    """Write the layer, times a scale, then batch norm in training."""
    s = t.statistics
    arguments = linear_arguments(t) | {
        "scale": (t.features, True),
        "bn_weight": (s, True),
        "bn_bias": (s, True),
        "running_mean": (s, False),
        "running_var": (s, False),
    }
    body = [
        linear_line(t, precision),
        f"%1 = tenon.mul %0, %scale : {t.y}, {t.features}",
        "%y, %statistics:2 = tenon.batch_norm_training %1",
        "    weight(%bn_weight) bias(%bn_bias) running(%running_mean, %running_var)",
        "    {eps = 1.0e-5, momentum = 0.1}",
        f"    : ({t.y}, {s}, {s}, {s}, {s}) -> ({t.y}, {s}, {s})",
        f"return %y, %statistics#0, %statistics#1 : {t.y}, {s}, {s}",
    ]
    return function(arguments, {"y": t.y, "new_running_mean": s, "new_running_var": s}, body)


FAMILIES = {f.__name__: f for f in (linear, leaky_relu, scale_batch_norm)}


def extent(text: str) -> int:
    """Parse an extent, which is positive."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive extent")
    return value


def batch(text: str) -> str:
    """Parse M, which may be dynamic."""
    return "?" if text == "dynamic" else str(extent(text))


def main() -> int:
    """Read the command line and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES, help="what follows the linear layer")
    parser.add_argument("-m", type=batch, default="1024", help="batch, or 'dynamic' (default: 1024)")
    parser.add_argument("-n", type=extent, default=8192, help="features out (default: 8192)")
    parser.add_argument("-k", type=extent, default=8192, help="features in (default: 8192)")
    parser.add_argument("--dtype", choices=DTYPES, default="f32", help="element type (default: f32)")
    parser.add_argument("--precision", choices=PRECISIONS, help="contract on f32's product (default: fp32)")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: standard output)")
    arguments = parser.parse_args()
    if arguments.precision and arguments.dtype != "f32":
        parser.error(f"--precision is a contract on products of f32; leave it out for {arguments.dtype}")
    if arguments.family == "scale_batch_norm" and arguments.m == "1":
        parser.error("batch norm in training needs a batch of more than 1; give -m")
    precision = f" precision<{arguments.precision}>" if arguments.precision else ""
    types = Types(arguments.m, arguments.n, arguments.k, arguments.dtype)
    model = FAMILIES[arguments.family](types, precision)
    if not arguments.output:
        sys.stdout.write(model)
        return 0
    try:
        arguments.output.write_text(model)
    except OSError as error:
        print(f"make_models.py: cannot write {arguments.output}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
