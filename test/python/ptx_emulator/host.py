# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions whose layers have become launches, run on the host as far as that takes: arithmetic, buffers, branches.

`Model` takes MLIR of tenon ops, on tensors or memrefs, and runs what the compiler makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from tenon_graphs.execute import TENON_COMPILE, TENON_OPT, tool

from .launch import Buffer, Device, Map
from .program import PtxError

# bf16 is held as its bits, and 8-bit floats are.
ELEMENTS = {
    "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64,
    "i8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f8E4M3FN": np.uint8, "f8E5M2": np.uint8,
}  # fmt: skip
FUNCTION = re.compile(
    r"^  func\.func (?:private )?@(\w+)\((.*?)\)(?: -> .*?)?(?: attributes .*?)? \{\n([\s\S]*?)^  \}", re.M
)
LAUNCH = re.compile(
    r"tenon\.launch @\w+::@(\w+) blocks\((%\S+)\) threads\((%\S+)\)"
    r" (?:shared\((%\S+)\) )?args\((.*?)\)(?: (\{.*\}))?$"
)
MAP = re.compile(r"#tenon\.tensor_map<box = (\d+)x(\d+), swizzle = (\d+)(, rounds_tf32 = true)?>")
SIGNED = (1 << 63, 1 << 64)


def wrap(value: int) -> int:
    """Return a number as an i64."""
    return (value + SIGNED[0]) % SIGNED[1] - SIGNED[0]


def unsigned(value: int) -> int:
    return value % SIGNED[1]


ARITHMETIC = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b,
    "divui": lambda a, b: unsigned(a) // unsigned(b), "remui": lambda a, b: unsigned(a) % unsigned(b),
    "ceildivui": lambda a, b: -(-unsigned(a) // unsigned(b)), "andi": lambda a, b: a & b, "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b, "minsi": min, "maxsi": max, "shli": lambda a, b: a << b,
    "minui": lambda a, b: min(unsigned(a), unsigned(b)), "maxui": lambda a, b: max(unsigned(a), unsigned(b)),
    "shrui": lambda a, b: unsigned(a) >> b,
}  # fmt: skip
COMPARE = {
    "eq": "==",
    "ne": "!=",
    "slt": "<",
    "sle": "<=",
    "sgt": ">",
    "sge": ">=",
    "ult": "<",
    "ule": "<=",
    "ugt": ">",
    "uge": ">=",
}


class Model:
    """A compiled module; `run` executes one of its functions."""

    def __init__(self, source: str, target: str, tmp_path, flags: Sequence[str] = (), resident: int = 4) -> None:
        """Compile: of tensors all the way (with flags of tenon-compile), of memrefs the kernels alone."""
        path = tmp_path / "emulated.mlir"
        path.write_text(source)
        if "memref<" in source:
            launches = tool(TENON_OPT, path, "--tenon-emit-kernels", "--tenon-clean-kernels")
        else:
            launches = tool(TENON_COMPILE, path, f"--target={target}", *flags, "--stop-after=cuda-kernels")
        (tmp_path / "launches.mlir").write_text(launches)
        whole = tool(TENON_OPT, tmp_path / "launches.mlir", f"--tenon-serialize-kernels=targets={target}")
        (tmp_path / "whole.mlir").write_text(whole)
        text = re.search(r'chip = "\w+">, properties = \{.*?\}, "((?:[^"\\]|\\.)*)"', whole) or re.search(
            r'assembly = "((?:[^"\\]|\\.)*)"', whole
        )
        if not text:
            raise PtxError("the compiler wrote no PTX")
        self.ptx = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text[1]).replace('\\"', '"').rstrip("\0")
        (tmp_path / "kernels.ptx").write_text(self.ptx)
        self.functions = {name: (arguments, body) for name, arguments, body in FUNCTION.findall(whole)}
        self.device = Device(self.ptx)
        self.resident, self.launched, self.token = resident, [], 0x1234567
        self.groups: int | None = None  # of blocks, for kernels whose last argument says how many there are

    def run(self, name: str, *inputs: np.ndarray | Buffer) -> list[Buffer]:
        """Call a function; arrays are copied to memory, and buffers of results come back."""
        arguments = self.arguments(name)
        if len(arguments) != len(inputs):
            raise PtxError(f"{name} takes {len(arguments)} arguments, not {len(inputs)}")
        values = {}
        for (argument, memref, _), given in zip(arguments, inputs, strict=True):
            check_type(argument, memref, given)
            values[argument] = given if isinstance(given, Buffer) else self.device.put(given)
        lines = [line.strip() for line in self.functions[name][1].strip().splitlines()]
        return _Run(self, values).block(lines)

    def arguments(self, name: str) -> list[tuple[str, str, str]]:
        """Return names, types and attributes of a function's arguments."""
        return re.findall(r"(%\w+): memref<([^>]*)>(?: \{(.*?)\})?(?:, |$)", self.functions[name][0])

    def call(self, name: str, *inputs: np.ndarray | Buffer) -> list[np.ndarray]:
        """Call a function and copy its results."""
        return [self.device.get(buffer) for buffer in self.run(name, *inputs)]

    def forward(self, name: str = "forward", **tensors: np.ndarray) -> list[np.ndarray]:
        """Run a model's function on tensors by their names in it: what prepares parameters, then the rest."""

        def bind(function: str, prepared: list[Buffer]) -> list:
            given = []
            for _, _, attributes in self.arguments(function):
                if match := re.search(r"tenon\.prepared = (\d+)", attributes):
                    given.append(prepared[int(match[1])])
                else:
                    given.append(tensors[re.search(r'tenon\.name = "(\w+)"', attributes)[1]])
            return given

        if name in self.functions:
            return self.call(name, *bind(name, []))
        prepared = self.run(f"{name}_prepare", *bind(f"{name}_prepare", []))
        return self.call(f"{name}_run", *bind(f"{name}_run", prepared))


def check_type(name: str, memref: str, given: np.ndarray | Buffer) -> None:
    """Refuse an array of another type than a function takes."""
    *extents, element = memref.split("x")
    fits = len(extents) == len(given.shape) and all(
        e in ("?", str(n)) for e, n in zip(extents, given.shape, strict=True)
    )
    if not fits or np.dtype(given.dtype) != ELEMENTS[element]:
        raise PtxError(f"argument {name} is memref<{memref}>, not {given.dtype} of {given.shape}")


class _Run:
    """One call of a function."""

    def __init__(self, model: Model, values: dict) -> None:
        self.model, self.device, self.values = model, model.device, values

    def block(self, lines: list[str]) -> list:
        """Execute lines; return what the last one gives back."""
        index = 0
        while index < len(lines):
            line = lines[index]
            if match := re.fullmatch(r"(?:(%\w+)(?::\d+)? = )?scf\.if (%\S+)(?: -> .*)? \{", line):
                index = self.branch(lines, index, match)
            elif match := re.fullmatch(r"(?:return|scf\.yield)(?: (.*?) : .*)?", line):
                return [self.values[name] for name in re.findall(r"%[\w#-]+", match[1] or "")]
            else:
                self.execute(line)
                index += 1
        return []

    def branch(self, lines: list[str], start: int, match: re.Match) -> int:
        """Execute a branch; return the index of what follows."""
        parts, depth, index = [[]], 1, start + 1
        while True:
            line = lines[index]
            if depth == 1 and line.startswith("}"):
                if line != "} else {":
                    break
                parts.append([])
            else:
                depth += line.endswith("{") - (line.startswith("}"))
                parts[-1].append(line)
            index += 1
        taken = 0 if self.values[match[2]] else 1
        results = self.block(parts[taken]) if taken < len(parts) else []
        for i, result in enumerate(results):
            self.values[match[1] if len(results) == 1 else f"{match[1]}#{i}"] = result
        return index + 1

    def execute(self, line: str) -> None:
        if match := LAUNCH.match(line):
            self.launch(*match.groups())
            return
        if line.startswith("memref.dealloc"):
            return
        match = re.match(r"(%[\w-]+) = ([\w.]+)(.*)", line)
        if not match:
            raise PtxError(f"the emulator's host cannot execute {line!r}")
        name, op, rest = match.groups()
        self.values[name] = self.evaluate(op, rest, line)

    def evaluate(self, op: str, rest: str, line: str) -> object:
        operands = [self.values[o] for o in re.findall(r"%[\w#-]+", rest.split(" : ")[0])]
        if op == "arith.constant":
            text = rest.split()[0]
            return text == "true" if text in ("true", "false") else int(text)
        if op.removeprefix("arith.") in ARITHMETIC:
            result = ARITHMETIC[op.removeprefix("arith.")](*operands)
            return result if isinstance(result, bool) else wrap(result)
        if op == "arith.cmpi":
            kind = rest.split(",")[0].strip()
            a, b = map(unsigned, operands) if kind[0] == "u" else operands
            return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[COMPARE[kind]]
        if op == "arith.select":
            return operands[1] if operands[0] else operands[2]
        if op in ("arith.index_cast", "arith.extui", "arith.extsi", "arith.trunci", "memref.cast"):
            return operands[0]
        if op == "memref.dim":
            return operands[0].shape[operands[1]]
        if op == "memref.extract_aligned_pointer_as_index":
            return operands[0].address
        if op == "tenon.resident_blocks":
            cluster = int(re.search(r"cluster_blocks = (\d+)", line)[1])
            return self.model.resident // cluster * cluster
        if op == "memref.alloc":
            return self.allocate(rest, operands)
        raise PtxError(f"the emulator's host cannot execute {line!r}")

    def allocate(self, rest: str, sizes: list[int]) -> Buffer:
        *extents, element = re.search(r"memref<([^,>]*)", rest)[1].split("x")
        left = iter(sizes)
        shape = [next(left) if extent == "?" else int(extent) for extent in extents]
        if element == "i8":  # a workspace, whose flags need no first value
            return self.device.put(np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8))
        return self.device.empty(shape, ELEMENTS[element])

    def launch(
        self, kernel: str, blocks: str, threads: str, shared: str | None, arguments: str, attributes: str | None
    ) -> None:
        attributes = attributes or ""
        operands = re.findall(r"(%[\w#-]+) : (\S+?)(?:, |$)", arguments)
        maps = [
            Map(self.values[name], (int(m[0]), int(m[1])), int(m[2]), bool(m[3]))
            for (name, _), m in zip(operands, MAP.findall(attributes), strict=False)
        ]
        rest = [self.values[name] for name, _ in operands[len(maps) :]]
        cluster = int((re.search(r"\bcluster = (\d+)", attributes) or [0, 1])[1])
        count = self.values[blocks]
        if "persistent" in attributes:
            count = min(count, max(self.model.resident // cluster, 1) * cluster)
            rest[-1] = self.model.token
            self.model.token += 1
        elif self.model.groups:
            count, rest[-1] = count // rest[-1] * self.model.groups, self.model.groups
        values = [v if isinstance(v, Buffer) else np.int64(v) for v in rest]
        self.model.launched.append(kernel)
        # Where rows of a tile do not fill a warp's loads, its last lanes load what nobody wrote, and do not use it.
        self.device.poisons = "_tiled" in kernel
        if count:
            self.device.launch(
                kernel, count, maps + values, self.values[threads], self.values[shared] if shared else 0, cluster
            )
