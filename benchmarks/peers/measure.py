# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a peer's matrix products in turn with torch.mm of the same data: one JSON report for each program here."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from torch_timing import burst

SHAPES = ((1024, 8192, 8192), (16384, 4096, 4096), (8192, 8192, 8192))
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "tf32": torch.float32}
ROUNDS, CALLS = 12, 10
# A wrong tile is off by far more, rounding to bf16 by less.
RMS_LIMIT = 0.01
Record = dict[str, object]


@dataclass
class Inputs:
    """Operands of y = x w^T + bias, with random data as PyTorch's initialisers make it."""

    x: torch.Tensor
    w: torch.Tensor
    bias: torch.Tensor

    @staticmethod
    def random(m: int, n: int, k: int, dtype: str) -> Inputs:
        """Return x in [0, 1), w and bias within 1 / sqrt(K)."""
        generator = torch.Generator("cuda").manual_seed(1)

        def uniform(low: float, high: float, *shape: int) -> torch.Tensor:
            values = torch.rand(shape, device="cuda", generator=generator)
            return (values * (high - low) + low).to(DTYPES[dtype])

        bound = k**-0.5
        return Inputs(uniform(0, 1, m, k), uniform(-bound, bound, n, k), uniform(-bound, bound, n))

    def output(self) -> torch.Tensor:
        """Return room for y."""
        return torch.empty(self.x.shape[0], self.w.shape[0], device="cuda", dtype=self.x.dtype)

    def expected(self, fused: bool) -> torch.Tensor:
        """Return torch.mm's product, the epilogue applied to it in FP32."""
        y = torch.mm(self.x, self.w.t()).float()
        return torch.nn.functional.leaky_relu((y + self.bias.float()) * 2, 0.1) if fused else y


class Product(Protocol):
    """A configuration of a peer, bound to inputs; a call launches it and returns its output `y`."""

    y: torch.Tensor

    def __call__(self) -> torch.Tensor:
        """Launch it."""
        ...

    def check(self) -> Record:
        """Compile, run once, and return facts of the kernel; raise where it is not one for mma.sync."""
        ...


Peer = Callable[[Inputs, bool], dict[str, Product]]  # of inputs and whether the epilogue is fused


def errors(got: torch.Tensor, reference: torch.Tensor) -> Record:
    """Return max and rms difference, and the reference's rms to judge them by."""
    difference = got.float() - reference
    rms = {"rms": difference, "reference_rms": reference}
    return {"max": difference.abs().max().item()} | {n: t.square().mean().sqrt().item() for n, t in rms.items()}


def guarded(action: Callable[[], Record], record: Record) -> None:
    """Put what `action` returns into `record`, or its error."""
    try:
        record |= action()
    except Exception as error:  # whatever a compiler or a driver may raise: the others go on
        record["error"] = f"{type(error).__name__}: {error}"[:2000]


def working_products(products: dict[str, Product], reference: torch.Tensor, deadline: float) -> dict[str, Record]:
    """Return a record for each product; those without "error" may be timed."""
    records: dict[str, Record] = {}
    for name, product in products.items():
        records[name] = record = {}
        if time.monotonic() > deadline:
            record["error"] = "not run: the time limit was reached (see --limit-s)"
            continue
        guarded(lambda p=product: p.check() | {"errors": errors(p.y, reference)}, record)
        if "error" not in record and not record["errors"]["rms"] <= RMS_LIMIT * record["errors"]["reference_rms"]:
            record["error"] = "not timed: the result is wrong"
    return records


def run_case(peer: Peer, inputs: Inputs, fused: bool, deadline: float) -> Record:
    """Check a peer's products, then time those that work in turn with torch.mm."""
    products = peer(inputs, fused)
    records = working_products(products, inputs.expected(fused), deadline)
    y, wt = inputs.output(), inputs.w.t()
    steps = {"torch.mm": lambda: torch.mm(inputs.x, wt, out=y)}
    steps |= {name: products[name] for name, record in records.items() if "error" not in record}
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(ROUNDS + 1):  # the first one warms up
        for name, step in steps.items():
            milliseconds = burst(step, "cuda", CALLS)
            if number:
                samples[name].append(milliseconds)
    ms = {name: statistics.median(times) for name, times in samples.items()}
    reference_ms = ms.pop("torch.mm")
    for name, time_ms in ms.items():
        records[name] |= {"ms": time_ms, "ratio": reference_ms / time_ms}
    return {"torch_mm_ms": reference_ms, "best": min(ms, key=ms.get, default=None), "configs": records}


def line(case: Record) -> str:
    """Return a case's outcome in a few lines."""
    head = f"{case['name']} {case['peer']}: "
    if "error" in case:
        return head + case["error"]
    rows = [
        f"  {name}: " + (f"{r['ms']:.4f} ms, ratio {r['ratio']:.3f}" if "ms" in r else r["error"][:300])
        for name, r in case["configs"].items()
    ]
    return "\n".join([f"{head}torch.mm {case['torch_mm_ms']:.4f} ms", *rows])


def main(description: str, peers: dict[str, Peer], versions: dict[str, str]) -> int:
    """Run all cases and write the report after each. Returns 1 where a case has no figure.

    Every case of a peer is run before the next peer's: what brings the process down costs only what follows.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cases", default="", help="regular expression on names such as bf16_1024x8192x8192")
    parser.add_argument("--bare", action="store_true", help="leave out the epilogue")
    parser.add_argument("--limit-s", type=float, default=85, help="start no configuration after this many seconds")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("PyTorch sees no GPU: run this on a machine with one")
    torch.set_float32_matmul_precision("high")  # torch.mm in tf32
    begin = time.monotonic()
    report = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        **versions,
        "fused": not options.bare,
        "ratio": "torch.mm's time, without an epilogue, over the configuration's",
        "cases": [],
    }
    for peer in peers:
        for dtype in DTYPES:
            for shape in SHAPES:
                name = f"{dtype}_{'x'.join(map(str, shape))}"
                if not re.search(options.cases, name):
                    continue
                case: Record = {"name": name, "peer": peer, "shape": shape, "dtype": dtype}

                def run(peer: str = peer, shape: tuple[int, int, int] = shape, dtype: str = dtype) -> Record:
                    inputs = Inputs.random(*shape, dtype)
                    return run_case(peers[peer], inputs, not options.bare, begin + options.limit_s)

                guarded(run, case)
                report["cases"].append(case)
                report["seconds"] = time.monotonic() - begin
                options.output.write_text(json.dumps(report, indent=1))
                print(line(case), flush=True)
    return int(any(case.get("best") is None for case in report["cases"]))
