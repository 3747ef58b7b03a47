# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of tenon-bench measured on the CPU, with a clock for a GPU."""

from tenon.bench.compilation import compile_all, job_of
from tenon.bench.config import read_cases
from tenon.bench.measure import run_case


class Clock:
    """A device on which a step takes as many milliseconds as it returns, and a tenth less in bursts."""

    def __init__(self, flush=False):
        self.order = []

    def capture(self, step):
        step()

    def idle(self):
        self.order.append("idle")

    def time(self, step, calls):
        taken = step()
        self.order.append((taken, calls))
        return (taken if isinstance(taken, float) else 2.0) * (0.9 if calls > 1 else 1.0)

    def time_bursts(self, step, seconds):
        taken = step()
        self.order.append((taken, seconds))
        settled = taken if isinstance(taken, float) else 2.0
        return [settled * part for part in (3.0, 2.0, 0.6, 1.2, 0.9)]  # two fifths are left out


def case(**changes):
    config = {"models": ["bias_gelu_residual_clamp"], "shapes": [[5, 24, 16]], "dtypes": ["bf16"], "repeat": 2}
    config |= {"strategies": ["library"], "peers": ["cublas", "eager"]}
    (made,) = read_cases(config | changes)
    return made


def run(made, rate=1e9):
    jobs = compile_all([made], "cpu", lambda items, total: items)
    compiled = {c: jobs[job_of(made, c, "cpu")] for c in made.contenders if c.tenon}
    return run_case(made, compiled, "cpu", rate, Clock)
