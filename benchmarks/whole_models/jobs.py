# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What there is to measure: a model in a scenario and a mode; free of PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

# By name, as models.py needs PyTorch; a test holds them against it.
WHOLE = (
    *("bert", "gpt2", "llama", "t5", "vit", "swin", "mixer"),
    *("prenorm_mlp", "swiglu", "geglu", "recommender", "nerf", "lora", "classifier"),
)
LAYERS = ("linear_act", "linear_norm", "gelu_mlp")
BLOCKS = ("swiglu_1", "swiglu_8", "swiglu_64", "swiglu_8192", "geglu_8192", "projections_8", "projections_4096")
MODELS = (*WHOLE, *LAYERS, "gelu_mlp_wide", *BLOCKS)
CONTENDERS = ("eager", "compile", "tenon")
# torch.compile's, and one in which each contender's step, eager's too, is captured as one CUDA graph and replayed.
CAPTURED = "cuda-graph"
MODES = ("default", "reduce-overhead", CAPTURED)


@dataclass(frozen=True)
class Scenario:
    """How a model is run.

    Attributes:
        title: what a reader calls it.
        precision: the type of its parameters and inputs.
        gradients: whether backward is run too.
        optimizer: whether a step of SGD is, at a rate of 0, so that all steps are of the same numbers.
        models: which are measured where none are named.

    """

    title: str
    precision: str
    gradients: bool
    optimizer: bool = False
    models: tuple[str, ...] = WHOLE


SCENARIOS = {
    "bf16": Scenario("bf16, no gradients", "bf16", False),
    "bf16-blocks": Scenario("parts of a transformer in bf16, no gradients", "bf16", False, models=BLOCKS),
    "fp32": Scenario("fp32 (`highest`), no gradients", "fp32", False),
    "bf16-train": Scenario("bf16, forward and backward", "bf16", True),
    "bf16-step": Scenario(
        "bf16, forward, backward and SGD",
        "bf16",
        True,
        optimizer=True,
        models=("linear_act", "linear_norm", "gelu_mlp_wide", "recommender", "nerf"),
    ),
    "fp32-train": Scenario("fp32 (`highest`), forward and backward", "fp32", True, models=("bert", "vit")),
    "fp32-step": Scenario("fp32 (`highest`), forward, backward and SGD", "fp32", True, optimizer=True, models=LAYERS),
}


@dataclass
class Job:
    """One row of the report, to be measured.

    Attributes:
        model: a key of models.MODELS.
        scenario: a key of SCENARIOS.
        mode: one of MODES.
        contenders: which of CONTENDERS.
        device: "cuda" or "cpu".
        tiny: at the tiny sizes.
        rounds: how often each contender is timed; 0 only compiles, which fills the caches.
        limit_s: seconds after which a contender's compilation is given up.
        options: of backend="tenon".
        failed: contenders that are known to fail, with why.

    """

    model: str
    scenario: str
    mode: str = "default"
    contenders: list[str] = field(default_factory=lambda: list(CONTENDERS))
    device: str = "cuda"
    tiny: bool = False
    rounds: int = 10
    limit_s: float = 120.0
    options: dict = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return what messages call it."""
        return "-".join([self.model, self.scenario, *([] if self.mode == "default" else [self.mode])])

    def without(self, contender: str, why: str) -> Job:
        """Return the same job but for a contender that fails."""
        others = [name for name in self.contenders if name != contender]
        return replace(self, contenders=others, failed=self.failed | {contender: why})
