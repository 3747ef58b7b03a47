# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check_descriptors.py follows the high words of descriptors through short kernels, right and wrong."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import check_descriptors

WGMMA = "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24"
WORDS = ["UMOV UR9, 0x40000040", "UMOV UR11, UR9"]


def wrong(*instructions):
    """Return what is wrong with a kernel of these instructions and an end."""
    lines = [f"        /*{16 * i:04x}*/    {text} ;   /* 0x0 */" for i, text in enumerate([*instructions, "EXIT"])]
    (kernel,) = check_descriptors.parse("\n".join(["\t\tFunction : k", *lines])).values()
    assert len(kernel) == len(lines)
    return check_descriptors.find_wrong(kernel)


@pytest.mark.parametrize(
    "instructions",
    [
        WORDS,
        ["UIADD3.X UR9, URZ, 0x40000040, URZ, UP0, !UPT", "UMOV UR11, UR9"],
        [*WORDS, "UIMAD.WIDE.U32 UR10, UR4, 0x600, UR8", "UIADD3.64 UR8, UR10, 0x2, URZ"],
        [*WORDS, "@P0 BRA 0x40", "UIADD3 UR8, UR8, 0x2, URZ"],
        # A loop that goes on in the same rows adds to the whole, and nothing to this word.
        [*WORDS, "UIADD3 UR8, UP0, UR8, 0x4, URZ", "UIADD3.X UR9, URZ, UR9, URZ, UP0, !UPT"],
        ["R2UR UR9, R3", "ULOP3.LUT UR11, UR7, 0x40000040, URZ, 0xfc, !UPT"],
        [*WORDS, "@!UP0 UMOV UR9, 0x40000040"],
    ],
)
def test_right(instructions):
    assert wrong(*instructions, WGMMA) == []


def test_what_ptxas_left_out():
    """The second descriptor's low word alone is computed: UR13 is what an earlier use of it left, or nothing."""
    second = "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR12], R24"
    sums = ["UIADD3 UR12, UR6, 0x10002, URZ", "UMOV UR15, UR11"]
    assert wrong(*WORDS, WGMMA, *sums, second) == ["0x0050: UR13 may hold nothing"]
    earlier = "UIADD3 UR13, UR19, 0x38300, URZ"
    assert wrong(*WORDS, earlier, *sums, second) == ["0x0050: UR13 may hold another word"]


@pytest.mark.parametrize(
    ("instructions", "held"),
    [
        ([*WORDS, "@P0 BRA 0x40", "UMOV UR9, 0x1"], "another word"),
        (["UMOV UR11, 0x40000040", "@!UP0 UMOV UR9, 0x40000040"], "nothing"),
        ([*WORDS, "ULDC.64 UR8, c[0x0][0x208]"], "another word"),
        (["UMOV UR11, 0x40000040", "UIADD3.64 UR8, UR4, 0x2, URZ"], "nothing"),
        # A sum of two words is another word, though the first of them is right.
        ([*WORDS, "UMOV UR13, 0x1", "UIADD3.X UR9, UR9, UR13, URZ, UP0, !UPT"], "another word"),
        ([*WORDS, "UIADD3.X UR9, UR5, 0x40000040, URZ, UP0, !UPT"], "another word"),
        ([*WORDS, "UIADD3.X UR9, URZ, URZ, URZ, UP0, !UPT"], "another word"),
    ],
)
def test_wrong_on_some_path(instructions, held):
    (found,) = wrong(*instructions, WGMMA)
    assert found.endswith(f"UR9 may hold {held}")


def test_a_loop_is_followed_to_its_end():
    """What the first turn leaves is wrong in the second."""
    (found,) = wrong(*WORDS, WGMMA, "UMOV UR9, UR5", "@P0 BRA 0x20")
    assert found == "0x0020: UR9 may hold nothing"
    assert wrong(*WORDS, WGMMA, "UMOV UR9, UR5", "BRA 0x0") == []
