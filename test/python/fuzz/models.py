# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random PyTorch modules by `torch.compile` and by `tenon.torch.optimize`, against float64, on the CPU and on a GPU.

Tenon takes all that it can, and raises where it fails.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from . import runner

PRODUCTS = Counter()  # of this process


def take_everything(folder: str) -> None:
    """Have Tenon compile whatever it can, with nothing cached by an earlier run."""
    os.environ |= {"TENON_STRICT": "1", "TENON_CACHE_DIR": f"{folder}/tenon", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/i"}
    import torch
    from tenon.torch import options
    from tenon.torch.calls.call import FusedCall
    from tenon.torch.choice import judge

    def recording(self: FusedCall, partition: object, *args: object, **kwargs: object) -> None:
        PRODUCTS["products that Tenon compiled"] += partition.source.count("= tenon.linear ")
        init(self, partition, *args, **kwargs)

    init, FusedCall.__init__ = FusedCall.__init__, recording
    torch.set_num_threads(1)
    options.default_rest = lambda device_type: "eager"
    options.Options.compiles_for = lambda self, device: True
    judge.Judge.measures = lambda self, device: False


def check_on(devices: list[str]) -> runner.Check:
    """Return the check of a seed."""

    def check(seed: int, scratch: Path) -> tuple[str, Counter]:
        from torch_models.check import FRONT_ENDS
        from torch_models.random_programs import Drawn

        counts, problems = Counter(), []
        PRODUCTS.clear()
        for device in devices:
            for front_end in FRONT_ENDS:
                drawn = Drawn(seed, device)
                try:
                    drawn.check(front_end)
                except Exception:
                    problems.append(f"{front_end}: {drawn}\n{traceback.format_exc()[-1500:]}")
                counts[f"{device}, {front_end}"] += 1
        return "\n".join(problems), counts + PRODUCTS

    return check


def main() -> int:
    """Run the command line."""
    parser = runner.parser(__doc__, 1000)
    parser.add_argument("--devices", default="cpu", help="cpu, cuda or both: cpu,cuda")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        take_everything(folder)
        return runner.main("random PyTorch modules", args, check_on(args.devices.split(",")), limit_s=300)


if __name__ == "__main__":
    sys.exit(main())
