"""PTX that is wrong or unknown is refused at its place."""

import pytest

from minitriton import emulator
from minitriton.emulator import EmulationError

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p0)\n.reqntid 32\n{\n.reg .b32 %r<4>;\n"


def test_instructions_keep_their_line_and_source() -> None:
    module = emulator.parse(HEAD + '.loc 1 8 3\nadd.s32 %r1, %r2, 7;\nret;\n}\n.file 1 "/k/softmax.py"\n')
    first = module.kernels["k"].instructions[0]
    assert (first.line, str(first.source), module.target) == (9, "/k/softmax.py:8:3", "sm_90a")


def test_inlined_instructions_count_for_the_line_of_the_outermost_call() -> None:
    text = (
        HEAD
        + ".loc 1 8 3\nret;\n.loc 2 170 27  // standard.py:170:27 @[ standard.py:191:40 @[ softmax.py:13:23 ] ]\nret;\n}\n"
    )
    assert str(emulator.parse(text).kernels["k"].instructions[1].source) == "file1:13:23"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("frobnicate.b32 %r1, %r2;", "does not know the instruction `frobnicate.b32`"),
        ("add.s32 %r1, %r9, 1;", "`%r9` is not a declared register"),
        ("bra NOWHERE;", "branch to `NOWHERE`"),
        ("add.rn.banana.f32 %r1, %r2, %r3;", "does not know this form of `add.rn.banana.f32`"),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
            "im2col",
        ),
    ],
)
def test_errors_carry_line_and_text(body: str, message: str) -> None:
    with pytest.raises(EmulationError, match=message) as caught:
        emulator.run(HEAD + body + "\nret;\n}\n", "k", (1,), [0])
    assert caught.value.location is not None
    assert caught.value.location.line == 8
    assert body.split()[0] in (caught.value.source_line or "")


def test_an_unfinished_text_is_refused() -> None:
    with pytest.raises(EmulationError, match="ends within"):
        emulator.parse(HEAD + "add.s32 %r1, %r2, 7;")


def test_a_launch_must_fit_the_kernel() -> None:
    text = HEAD.replace(".param .u64 p0", ".param .u32 p0") + "ret;\n}\n"
    with pytest.raises(
        EmulationError, match=r"<ptx>:\d+: error: parameter 0 \(`p0`\) of kernel `k`: no argument was given for it"
    ):
        emulator.run(text, "k", (1,), [])
    with pytest.raises(EmulationError, match="lacks kernel `other`"):
        emulator.run(text, "other", (1,), [1])


def test_scoped_registers_and_labels_do_not_clash() -> None:
    piece = "{ .reg .pred done; setp.eq.s32 done, %r1, %r1; @done bra SKIP; add.s32 %r1, %r1, 1; SKIP: }\n"
    kernel = emulator.parse(HEAD + piece + piece + "ret;\n}\n").kernels["k"]
    assert len(kernel.labels) == 2
