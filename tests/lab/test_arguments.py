"""Inputs made up for a check: as long as the kernel reaches, and the same memory in every run."""

from pathlib import Path

import numpy as np
import pytest

from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.interpreter.memory.device import MemoryFault
from minitriton.lab.arguments import Arguments, as_numbers, generate_arguments
from minitriton.lab.comparison import Verdict, compare

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def strided(x_ptr, out_ptr, n, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i * STRIDE, mask=mask).to(tl.float32), mask=mask)
"""
BROKEN = """
from dataclasses import dataclass
from minitriton.dialects import tt
from minitriton.pipeline.pass_registry import Pass, register_pass

@register_pass
@dataclass(frozen=True)
class LoseStores(Pass):
    "Drops every store."
    name = "lose-stores"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, tt.StoreOp):
                inner.detach()
                inner.erase()
"""


def fault_beyond(position: int, elements: int):
    """Stands for a kernel that reads `elements` elements of the argument `position`."""

    def run(arguments: Arguments) -> None:
        array = arguments.values[position]
        if array.size < elements:
            fault = MemoryFault("outside")
            fault.end = array.__array_interface__["data"][0] + array.size * array.itemsize + array.itemsize
            raise fault

    return run


def test_arrays_grow_until_the_kernel_reaches_no_further() -> None:
    made = generate_arguments({"x": "*fp32", "y": "*i64"}, fault_beyond(1, 1000))
    assert made.values[0].size == 64
    assert made.values[1].size >= 1000


def test_attempts_that_are_still_referred_to_take_no_memory_each() -> None:
    attempts: list[Arguments] = []

    def run(arguments: Arguments) -> None:
        attempts.append(arguments)
        fault_beyond(0, 100_000)(arguments)

    generate_arguments({"x": "*fp32"}, run)
    addresses = {made.values[0].__array_interface__["data"][0] for made in attempts}
    assert len(attempts) > 5 and len(addresses) == 1


def test_a_given_size_is_not_grown() -> None:
    with pytest.raises(MemoryFault):
        generate_arguments({"x": "*fp32"}, fault_beyond(0, 1000), sizes={"x": 10})


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(MinitritonError, match="lacks an argument 'z'"):
        generate_arguments({"x": "*fp32"}, lambda _: None, sizes={"z": 10})


def test_a_number_that_the_signature_does_not_allow_is_refused_by_name() -> None:
    with pytest.raises(MinitritonError, match="n=1001 is not divisible by 16, as the signature says"):
        generate_arguments({"n": "i32"}, lambda _: None, numbers={"n": 1001}, divisible=["n"])


def test_fresh_arguments_have_their_first_contents_at_their_first_address() -> None:
    made = generate_arguments({"x": "*bf16"}, lambda _: None)
    first, address = made.values[0].copy(), made.values[0].__array_interface__["data"][0]
    made.values[0][...] = 0
    again = made.fresh()[0]
    assert (again == first).all()
    assert again.__array_interface__["data"][0] == address


@pytest.mark.parametrize("element", ["fp64", "fp32", "fp16", "bf16", "fp8e4nv", "fp8e5"])
def test_floats_of_every_type_are_close_only_within_their_precision(element: str) -> None:
    array = generate_arguments({"x": "*" + element}, lambda _: None).values[0]
    assert compare([array], [array.copy()], [element]) is Verdict.BIT_EQUAL
    nudged = array.copy()
    largest = int(np.argmax(np.abs(as_numbers(array, element))))
    nudged.view(f"u{array.itemsize}")[largest] ^= 1
    assert compare([nudged], [array], [element]) is Verdict.CLOSE
    assert compare([np.roll(array, 1)], [array], [element]) is Verdict.WRONG


def test_integers_are_never_merely_close() -> None:
    assert compare([np.array([1 << 30])], [np.array([(1 << 30) + 1])], ["i64"]) is Verdict.WRONG


def test_the_command_makes_up_inputs_and_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "strided.py"
    path.write_text(KERNEL)
    command = ["check", f"{path}:strided", "--signature", "*bf16,*fp32:16,i32,STRIDE=3,BLOCK=64", "--grid", "3"]
    assert main([*command, "--arg", "n=150"]) == 0
    printed = capsys.readouterr().out
    assert "none wrong" in printed
    assert "emulator" in printed


def test_the_command_names_a_broken_pass_and_writes_a_reproducer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "strided.py").write_text(KERNEL)
    (tmp_path / "lose_stores.py").write_text(BROKEN)
    command = ["check", f"{tmp_path / 'strided.py'}:strided", "--signature", "*fp32,*fp32,i32,STRIDE=1,BLOCK=64"]
    command += ["--load", str(tmp_path / "lose_stores.py"), "--pipeline", "inline,canonicalize,lose-stores,cse"]
    assert main([*command, "--reproducers", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert "broken: lose-stores" in printed
    assert "strided.py:9:" in printed
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["strided.3.lose-stores.mlir"]


def test_a_kernel_that_is_wrong_before_any_pass_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "strided.py"
    path.write_text(KERNEL)
    command = ["check", f"{path}:strided", "--signature", "*fp32,*fp32,i32,STRIDE=1,BLOCK=64", "--size", "x_ptr=10"]
    assert main(command) == 1
    assert "is outside every array" in capsys.readouterr().err
