"""Control-flow kernels: what the reference says, that a wrong pass is found and named, that findings shrink and run again."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from minitriton.commands.cli import main
from minitriton.dialects import tt
from minitriton.fuzz.control_flow.builder import Block, Buffer, Line, Node, Program, source_of
from minitriton.fuzz.control_flow.comparison import KIND, run_program
from minitriton.fuzz.control_flow.generator import generate
from minitriton.fuzz.control_flow.reference import run_reference
from minitriton.fuzz.control_flow.values import Rejected
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.tree import Scalar
from minitriton.passes.reorder_broadcast import ReorderBroadcast

CHEAP = ("python", "interpreter", "ttir")
OUT = Buffer("out", ELEMENTS["int32"], 4, values=(7, 7, 7, 7), written=True)


def program(*body: Node, scalars: tuple[Scalar, ...] = (), buffers: tuple[Buffer, ...] = ()) -> Program:
    return Program(1, (*buffers, OUT), scalars, (), body, num_warps=1)


def stored(text: str, **scalars: tuple[str, int]) -> int:
    """What the reference says of an int32 expression."""
    given = tuple(Scalar(name, ELEMENTS[type_], value) for name, (type_, value) in scalars.items())
    return int(run_reference(program(Line(f"tl.store(out, {text})"), scalars=given))[-1][0])


def counted(bounds: str, **scalars: tuple[str, int]) -> list[int]:
    """The values that a loop's variable takes."""
    given = tuple(Scalar(name, ELEMENTS[type_], value) for name, (type_, value) in scalars.items())
    seen = Buffer("seen", ELEMENTS["int64"], 16, written=True)
    body = (
        Line("at = tl.full((), 0, tl.int32)"),
        Block(f"for i in {bounds}:", (Line("tl.store(seen + at, i.to(tl.int64))"), Line("at += 1"))),
        Line("tl.store(out, at)"),
    )
    memory = run_reference(program(*body, scalars=given, buffers=(seen,)))
    return memory[0][: memory[1][0]].tolist()


def test_integers_of_the_reference_wrap_and_divide_as_in_c() -> None:
    assert stored("(a + 100).to(tl.int32)", a=("int8", 100)) == -56
    assert stored("a // 2 * 10 + a % 2", a=("int32", -7)) == -31
    assert stored("(a - 1).to(tl.int32)", a=("uint8", 0)) == 255


@pytest.mark.parametrize(
    ("bounds", "scalars", "expected"),
    [
        ("range(n)", {"n": ("int32", 3)}, [0, 1, 2]),
        ("range(5, n)", {"n": ("int32", 3)}, []),
        ("tl.range(n, -3, -2, flatten=True)", {"n": ("int32", 2)}, [2, 0, -2]),
        ("range(n, m)", {"n": ("uint8", 126), "m": ("uint8", 129)}, [126, 127, 128]),
        ("range(n, m)", {"n": ("uint32", 2**31 - 1), "m": ("uint32", 2**31 + 1)}, [2**31 - 1, 2**31]),
        ("range(0, n, m)", {"n": ("int64", 7), "m": ("int64", 3)}, [0, 3, 6]),
    ],
)
def test_ranges_of_the_reference_are_python_s(
    bounds: str, scalars: dict[str, tuple[str, int]], expected: list[int]
) -> None:
    assert counted(bounds, **scalars) == expected


@pytest.mark.parametrize(
    "line",
    [
        "tl.store(out + 4, 1)",
        "tl.store(out, 1 // tl.load(out + 9))",
        "tl.assume(tl.load(out) == 8)",
        "tl.store(out, tl.load(out) // (tl.load(out) - 7))",
        "tl.store(out + tl.arange(0, 4) * 0, tl.arange(0, 4))",
        "tl.store(out, undefined)",
        "tl.store(out, tl.load(out) + tl.load(out).to(tl.int64))",
    ],
)
def test_what_has_no_one_meaning_is_rejected(line: str) -> None:
    with pytest.raises(Rejected):
        run_reference(program(Line(line)))


def test_what_never_runs_may_mean_nothing() -> None:
    body = (Line("tl.assume(tl.load(out + 99) > 0)"), Line("tl.store(out, 1)"))
    assert run_reference(program(Block("for i in range(3, 3):", body)))[0].tolist() == [7] * 4


def test_a_loop_that_does_not_end_is_rejected() -> None:
    with pytest.raises(Rejected, match="a long loop"):
        run_reference(program(Block("while tl.load(out) == 7:", (Line("tl.store(out + 1, 3)"),))))


def test_a_seed_makes_the_same_program_everywhere() -> None:
    first, arrays = generate(11)
    second, again = generate(11)
    assert first == second and all(np.array_equal(a, b) for a, b in zip(arrays, again, strict=True))
    assert source_of(first) != source_of(generate(12)[0])


SUM = program(
    Line("s = tl.full((), 0, tl.int32)"),
    Line("t = tl.full((), 0, tl.int32)"),
    Block("for i in range(0, n):", (Line("t += 1"), Block("if i > 1:", (Line("s += i"),)))),
    Line("tl.store(out, s)"),
    Line("tl.store(out + 1, t)"),
    scalars=(Scalar("n", ELEMENTS["int32"], 5),),
)


@pytest.fixture
def one_iteration_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass on TTIR that starts every loop at 1."""

    def apply(self: ReorderBroadcast, ctx: Context, op: ModuleOp) -> bool:
        for loop in [inner for inner in op.walk() if isinstance(inner, scf.ForOp)]:
            loop.operands[0] = loop.operands[2]
        return True

    monkeypatch.setattr(ReorderBroadcast, "apply", apply)


def test_every_level_computes_what_python_does() -> None:
    verdict, outcomes = run_program(SUM, (*CHEAP, "emulator", "emulator-sm80"))
    assert not verdict.findings and outcomes["emulator"].arrays[-1].tolist() == [9, 5, 7, 7]


def test_a_wrong_ttir_pass_is_found_and_named(one_iteration_less: None) -> None:
    (finding,) = run_program(SUM, CHEAP)[0].findings
    assert (finding.kind, finding.signature) == (
        "difference", "ttir | python interpreter: triton-reorder-broadcast",
    )  # fmt: skip


def test_a_race_of_a_kernel_without_barriers_is_not_compared() -> None:
    lane = "tl.arange(0, 64)"
    data = Buffer("data", ELEMENTS["int32"], 64, low=0, high=9, written=True)
    body = (
        Line(f"tl.store(data + {lane}, {lane}, mask={lane} > 3)", writes=True),
        Line(f"tl.store(data + (63 - {lane}), tl.load(data + {lane}))", writes=True),
    )
    racing = Program(1, (data,), (), (), body, num_warps=2, barriers=False)
    oracles = ("python", "interpreter", "emulator")
    assert list(run_program(racing, oracles)[1]) == ["python", "interpreter"]
    assert "tl.debug_barrier()" not in source_of(racing)


def test_a_finding_shrinks_to_what_it_needs(one_iteration_less: None) -> None:
    def shows(candidate: Program) -> bool:
        return any(f.kind == "difference" for f in run_program(candidate, CHEAP)[0].findings)

    small = source_of(KIND.shrink(SUM, shows, 20.0))
    assert small.count("tl.store") == 1 and "if" not in small and "for i in" in small


def test_a_reproducer_runs_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding = FuzzFinding("difference", "python | ttir", "some text")
    paths = [KIND.write(tmp_path, SUM, finding, 1, 2, CHEAP) for _ in range(2)]
    assert [path.name for path in paths] == ["control_flow_1_2.py", "control_flow_1_2_2.py"]
    module: dict[str, Any] = runpy.run_path(str(paths[0]))
    compare: Callable[[Program, tuple[str, ...]], int] = module["KIND"].compare_again
    assert module["PROGRAM"] == SUM and compare(module["PROGRAM"], CHEAP) == 0
    assert "agree: python, interpreter, ttir" in capsys.readouterr().out


def test_the_command_fuzzes_control_flow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "fuzz --kind control-flow --count 3 --seed 1 --jobs 0 --oracles python,interpreter --first 20"
    assert main([*command.split(), "--out", str(tmp_path)]) == 0
    assert "3 kernels of seed 1 by python, interpreter" in capsys.readouterr().out
    assert json.loads((tmp_path / "summary.json").read_text())["count"] == 3
    assert (
        main(["fuzz", "--kind", "control-flow", "--only", "20", "--seed", "1", "--oracles", "python,interpreter"]) == 0
    )
    assert "agree: python, interpreter" in capsys.readouterr().out
    assert main(["fuzz", "--kind", "control-flow", "--oracles", "python,triton"]) == 1


def test_a_run_that_ends_early_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "fuzz --kind control-flow --count 50 --seed 1 --jobs 0 --oracles python,interpreter --first 20 --seconds 0.001"
    )
    main(command.split())
    assert "go on with --first 21 --count 49" in capsys.readouterr().err


@pytest.mark.parametrize("first", [50, 55])
def test_the_levels_agree_on_some_programs(first: int) -> None:
    for number in range(first, first + 5):
        report = KIND.fuzz(1, number, (*CHEAP, "emulator", "emulator-sm80"))
        assert not report.findings, (
            f"minitriton fuzz --kind control-flow --seed 1 --only {number}\n{report.findings[0]}"
        )


def test_a_pass_that_breaks_the_ir_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(self: ReorderBroadcast, ctx: Context, op: ModuleOp) -> bool:
        for store in [inner for inner in op.walk() if isinstance(inner, tt.StoreOp)]:
            store.operands[0] = next(inner for inner in op.walk() if isinstance(inner, tt.FuncOp)).body.block.args[0]
            store.operands = [store.operands[1], *store.operands[1:]]
        return True

    monkeypatch.setattr(ReorderBroadcast, "apply", apply)
    signatures = [finding.signature for finding in run_program(SUM, CHEAP)[0].findings]
    assert signatures and all(signature.endswith("triton-reorder-broadcast") for signature in signatures)
