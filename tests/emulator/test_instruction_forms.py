"""Every form of instruction that the two compilers write, and the others of sm_80 to sm_90a that inline PTX may use, is known.

`instruction_forms.txt` holds one instruction a line: those of Triton 3.6.0's PTX for its own tests and tutorials on sm_80 and
sm_90, those of this package's PTX for the parity suite, and further ones of the PTX ISA.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from minitriton import emulator
from minitriton.emulator.translate import translate

HEAD = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p0)
.reqntid 128
{
.reg .pred %p<99>;
.reg .b16 %rs<99>;
.reg .b32 %r<399>;
.reg .b64 %rd<399>;
.local .align 16 .b8 SYMBOL[64];
"""
FORMS: dict[str, list[str]] = defaultdict(list)
for _line in (Path(__file__).parent / "instruction_forms.txt").read_text().splitlines():
    FORMS[_line.split(".")[0].split()[0].rstrip(";")].append(_line)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_translated(name: str) -> None:
    for checked in (False, True):
        module = emulator.parse(HEAD + "\n".join(FORMS[name]) + "\nret;\n}\n")
        translated = translate(module.kernels["k"], module.variables, checked)
        assert sum(len(block.instructions) for block in translated.blocks) >= len(FORMS[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FORMS)
def test_a_form_with_an_operand_missing_or_of_another_kind_is_refused_at_its_line_or_runs(name: str) -> None:
    for line in FORMS[name]:
        opcode, _, rest = line.rstrip(";").partition(" ")
        operands = split(rest)
        for at in range(len(operands)):
            for other in ([], ["7"], ["[%rd1]"], ["{%r1, %r2}"]):
                changed = f"{opcode} {', '.join([*operands[:at], *other, *operands[at + 1 :]])};"
                try:
                    module = emulator.parse(f"{HEAD}{changed}\nret;\n}}\n")
                    translate(module.kernels["k"], module.variables, True)
                except emulator.EmulationError as error:
                    assert error.location is not None, changed


def split(text: str) -> list[str]:
    """Operands, at the commas outside of brackets."""
    return re.findall(r"(?:[^,\[{(]|\[[^\]]*\]|\{[^}]*\}|\([^)]*\))+", text)


def test_the_list_is_not_short() -> None:
    assert len(FORMS) > 80
    assert sum(map(len, FORMS.values())) > 600


UNKNOWN = [
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4}, %r5, 0;",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
    "min.f32x2 %rd1, %rd2, %rd3;",
    "prmt.b32.f4e %r1, %r2, %r3, %r4;",
    "cvt.rs.f16x2.f32 %r1, %r2, %r3, %r4;",
    "vote.all.pred %p1, %p2;",
    "red.async.relaxed.cluster.global.add.u32 [%rd1], %r2;",
    "st.async.mmio.release.sys.global.b32 [%rd1], %r2;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r1, %r2, %r3, %r4}, %rd1, %rd2, %r5, 0, 1, 1, 1;",
]


@pytest.mark.parametrize("instruction", UNKNOWN)
def test_other_forms_are_refused_at_their_line(instruction: str) -> None:
    module = emulator.parse(HEAD + instruction + "\nret;\n}\n")
    with pytest.raises(emulator.EmulationError, match="does not know") as raised:
        translate(module.kernels["k"], module.variables, False)
    assert raised.value.location is not None and raised.value.location.line == 13
