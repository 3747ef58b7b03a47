# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX text, as LLVM and Tenon's inline PTX write it, to lists of instructions with resolved registers and labels."""

from __future__ import annotations

import re

from .program import Address, Immediate, Instruction, Kernel, Module, PtxError, Register, Symbol, Variable, Vector

BITS = {"pred": 1, "8": 8, "16": 16, "32": 32, "64": 64}
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)\{")
PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,]*?\s([\w$]+)(?:\[(\d+)\])?\s*(?:,|$)")
VARIABLE = re.compile(
    r"\.(global|shared|const)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\s*(\[\d*\])?\s*(?:=\s*([^;]+))?;"
)
LABEL = re.compile(r"([\w$]+)\s*:(?!:)")
STATEMENT = re.compile(r"(?:@(!?)([%\w]+)\s+)?([\w.:]+)\s*(.*)", re.DOTALL)


def get_bits(type_name: str) -> int:
    """Return the width of a type such as b32 or pred."""
    name = type_name if type_name == "pred" else re.sub(r"^[a-z]+", "", type_name)
    if name not in BITS:
        raise PtxError(f"type .{type_name} is not known")
    return BITS[name]


class _Body:
    """Parses the statements of one entry."""

    def __init__(self, kernel: Kernel, text: str, first_line: int) -> None:
        self.kernel, self.text, self.line, self.counted = kernel, text, first_line, 0
        self.variables: list[Variable] = []
        self.scopes: list[dict[str, Register]] = [{}]
        self.label_scopes: list[int] = [0]
        self.scope_count = 0
        self.last_label = ""

    def parse(self) -> None:
        position, text = 0, self.text
        while True:
            position = re.compile(r"\s*").match(text, position).end()
            if position == len(text):
                break
            if text[position] in "{}":
                self.change_scope(text[position])
                position += 1
            elif label := LABEL.match(text, position):
                self.last_label = self.label_name(label[1])
                self.kernel.labels[self.last_label] = len(self.kernel.code)
                position = label.end()
            else:
                end = text.find(";", position)
                if end < 0:
                    raise PtxError(f"line {self.line}: no semicolon after {text[position : position + 60]!r}")
                self.parse_statement(text[position:end].strip(), position)
                position = end + 1
        self.resolve_labels()

    def change_scope(self, brace: str) -> None:
        if brace == "{":
            self.scope_count += 1
            self.scopes.append({})
            self.label_scopes.append(self.scope_count)
        else:
            self.scopes.pop()
            self.label_scopes.pop()

    def label_name(self, name: str) -> str:
        """Labels of inline PTX are local to its braces."""
        return name if name.startswith("$") else f"{name}@{self.label_scopes[-1]}"

    def resolve_labels(self) -> None:
        for instruction in self.kernel.code:
            targets = []
            if instruction.parts[0] == "bra":
                targets = [instruction.operands[0].name]
            elif instruction.parts[0] == "brx":
                targets = self.kernel.jumps.get(instruction.operands[1].name, [""])
            if any(target not in self.kernel.labels for target in targets):
                raise PtxError(f"line {instruction.line}: no label for {instruction.text!r}")

    def parse_statement(self, text: str, position: int) -> None:
        self.line += self.text.count("\n", self.counted, position)
        self.counted = position
        if not text or text.startswith(".pragma"):
            return
        if text.startswith(".reg"):
            self.declare(text)
            return
        if text.startswith(".branchtargets"):
            targets = split_commas(text.removeprefix(".branchtargets"))
            self.kernel.jumps[self.last_label] = [self.label_name(target) for target in targets]
            return
        if variable := VARIABLE.fullmatch(text + ";"):
            self.variables.append(_parse_variable(variable, self.kernel.name))
            return
        match = STATEMENT.fullmatch(text)
        if not match or text.startswith("."):
            raise PtxError(f"line {self.line}: cannot read {text!r}")
        negate, guard, opcode, rest = match.groups()
        operands = [self.operand(part) for part in split_commas(rest)]
        if opcode.startswith(("bra", "brx")):
            operands[-1] = Symbol(self.label_name(operands[-1].name))
        guarded = (self.lookup(guard), not negate) if guard else None
        self.kernel.code.append(Instruction(opcode, operands, guarded, self.line, " ".join(text.split())))

    def declare(self, text: str) -> None:
        type_name, names = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text, re.DOTALL).groups()
        for declared in re.split(r"\s*,\s*", names):
            name, count = re.fullmatch(r"([%\w$]+)(?:<(\d+)>)?", declared).groups()
            for full in [name] if count is None else [f"{name}{i}" for i in range(int(count))]:
                register = Register(len(self.kernel.registers), get_bits(type_name), full)
                self.kernel.registers.append(register)
                self.scopes[-1][full] = register

    def lookup(self, name: str) -> Register | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def operand(self, text: str) -> object:
        if text[0] == "{":
            return Vector(tuple(self.operand(part) for part in split_commas(text[1:-1])))
        if text[0] == "[":
            return self.address(text[1:-1].strip())
        if "|" in text:
            return Vector(tuple(self.operand(part) for part in text.split("|")))
        if re.match(r"-?\d", text):
            return Immediate(text)
        return self.lookup(text) or Symbol(text)

    def address(self, text: str) -> Address:
        base, *rest = split_commas(text)
        match = re.fullmatch(r"([%\w$]+)\s*(?:\+\s*(-?\w+))?", base)
        if not match:
            raise PtxError(f"line {self.line}: cannot read the address [{text}]")
        coordinates = tuple(self.operand(part) for part in split_commas(rest[0][1:-1])) if rest else ()
        return Address(self.lookup(match[1]) or Symbol(match[1]), int(match[2] or "0", 0), coordinates)


def split_commas(text: str) -> list[str]:
    """Split at commas that no brace or bracket encloses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "{[") - (c in "}]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def _find_end(text: str, start: int) -> int:
    depth = 1
    for match in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise PtxError("an entry's braces do not close")


def _parse_variable(match: re.Match, kernel: str = "") -> Variable:
    space, alignment, type_name, name, extent, initial = match.groups()
    element = get_bits(type_name) // 8
    size = element * int(extent[1:-1] or "0") if extent else element
    values = [int(value, 0) for value in re.findall(r"-?\w+", initial or "")]
    content = b"".join(value.to_bytes(element, "little", signed=value < 0) for value in values)
    if extent == "[]":
        return Variable(name, space, int(alignment or element), None, b"", kernel)
    return Variable(name, space, int(alignment or element), size, content.ljust(size, b"\0"), kernel)


def parse(text: str) -> Module:
    """Parse a PTX file; raises PtxError at what it cannot read."""
    text = re.sub(r"//[^\n]*", "", text)
    module, outside, position = Module({}, {}), "", 0
    while match := ENTRY.search(text, position):
        end = _find_end(text, match.end())
        kernel = Kernel(match[1])
        for type_name, name, extent in PARAM.findall(match[2]):
            kernel.parameters.append((name, get_bits(type_name) // 8 * int(extent or "1")))
        if threads := re.search(r"\.reqntid\s+(\d+)", match[3]):
            kernel.threads = int(threads[1])
        body = _Body(kernel, text[match.end() : end], text.count("\n", 0, match.end()) + 1)
        body.parse()
        module.variables.update({variable.name: variable for variable in body.variables})
        module.kernels[kernel.name] = kernel
        outside += text[position : match.start()]
        position = end + 1
    outside += text[position:]
    for variable in map(_parse_variable, VARIABLE.finditer(outside)):
        module.variables[variable.name] = variable
    if ".func" in outside:
        raise PtxError("functions other than entries are not supported")
    return module
