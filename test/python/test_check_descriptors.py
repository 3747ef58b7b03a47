# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check_descriptors.py on pieces of SASS: which high words it takes for right."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/check_descriptors.py"
WORD = "UMOV UR5, 0x40000040"
OTHER_OPERAND = "UMOV UR7, 0x40000040"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("check_descriptors", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_wrong(script, *instructions: str) -> list[str]:
    """Return what is wrong with a kernel whose wgmma has its operands in UR4 to UR7."""
    lines = [*instructions, "HGMMA.64x256x16.F32 R24, gdesc[UR4], RZ, !UPT", "EXIT"]
    sass = [f"        /*{16 * number:04x}*/                   {line} ;" for number, line in enumerate(lines)]
    (kernel,) = script.parse("\n".join(["\t\tFunction : layer_tiled", *sass])).values()
    return script.find_wrong(kernel)


@pytest.mark.parametrize(
    "instructions",
    [
        [WORD],
        ["UMOV UR9, 0x40000040", "UIADD3.X UR5, URZ, UR9, URZ, UP0, !UPT"],
        ["UIADD3.X UR5, URZ, 0x40000040, URZ, UP0, !UPT"],
        ["R2UR UR5, R9"],
        [WORD, "UIADD3.64 UR4, UR4, 0x2, URZ"],
    ],
)
def test_the_word_is_followed(script, instructions):
    assert find_wrong(script, OTHER_OPERAND, *instructions) == []


@pytest.mark.parametrize(
    ("instructions", "holds"),
    [
        ([], "nothing"),
        (["UMOV UR5, 0x40000041"], "another word"),
        ([WORD, "UMOV UR9, 0x1", "UIADD3.X UR5, UR5, UR9, URZ, UP0, !UPT"], "another word"),
        (["UMOV UR9, 0x1", "UIADD3.X UR5, UR9, 0x40000040, URZ, UP0, !UPT"], "another word"),
        ([WORD, "UIADD3.X UR5, URZ, URZ, URZ, UP0, !UPT"], "another word"),
        (["@P0 BRA 0x30", WORD], "nothing"),
    ],
)
def test_another_word_is_found(script, instructions, holds):
    (wrong,) = find_wrong(script, OTHER_OPERAND, *instructions)
    assert f"UR5 may hold {holds}" in wrong
