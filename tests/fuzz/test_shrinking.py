"""Findings are made smaller, and written as files that show them again."""

import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton import knobs
from minitriton.dialects import arith
from minitriton.fuzz.generation.generator import generate, kernel_seed
from minitriton.fuzz.kinds import FuzzKind, tree_text
from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running import oracles as oracles_module
from minitriton.fuzz.running.agreement import FuzzFinding, run_case
from minitriton.fuzz.tiles import KIND, candidates
from minitriton.fuzz.tree import Apply, Kernel, expressions, parts, statements
from minitriton.fuzz.validity.analysis import analyse
from minitriton.fuzz.validity.facts import Unsound
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Pass
from minitriton.target import default_arch

ORACLES = ("interpreter", "emulator")


def operations(kernel: Kernel) -> list[str]:
    every = [p for s in statements(kernel.body) for e in expressions(s) for p in parts(e)]
    return [p.op for p in every if isinstance(p, Apply)]


def first_kernel(wanted: str) -> Kernel:
    kernels = (generate(kernel_seed(2, number)) for number in range(1000))
    return next(k for k in kernels if wanted in operations(k) and not k.helpers)


@pytest.mark.parametrize("wanted", ["xor", "cumsum", "where"])
def test_what_does_not_matter_is_dropped(wanted: str) -> None:
    kernel = KIND.shrink(first_kernel(wanted), lambda k: wanted in operations(k), 20.0)
    assert operations(kernel).count(wanted) == 1
    assert len(list(statements(kernel.body))) <= 8
    assert kernel.grid == (1,) and kernel.num_warps == 1
    analyse(kernel)


def test_there_are_many_candidates() -> None:
    assert len(set(candidates(first_kernel("xor")))) > 100


class MaximumIsMinimum(Pass):
    """A broken pass, to be found."""

    name = "test-maximum-is-minimum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, arith.MaxSIOp):
                new = arith.MinSIOp(inner.operands[0], inner.operands[1])
                block = inner.parent
                assert block is not None
                block.insert_op_before(new, inner)
                inner.results[0].replace_all_uses_with(new.results[0])
                inner.detach()
                inner.erase()


@pytest.fixture
def broken_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    whole = oracles_module.pipeline_for

    def with_broken_pass(*given: Any, **options: Any) -> Pipeline:
        steps = whole(*given, **options).steps
        return Pipeline((steps[0], MaximumIsMinimum(), *steps[1:]))

    monkeypatch.setattr(oracles_module, "pipeline_for", with_broken_pass)
    yield


def shows(kernel: Kernel) -> bool:
    return any(f.kind == "difference" for f in run_case(kernel, ORACLES).verdict.findings)


def test_a_broken_pass_is_found_and_shrunk_to_what_shows_it(broken_compiler: None, tmp_path: Path) -> None:
    kernels = (generate(kernel_seed(5, number)) for number in range(200))
    kernel = next(k for k in kernels if "max" in operations(k) and shows(k))
    small = KIND.shrink(kernel, shows, 8.0)
    assert shows(small)
    assert len(source_of(small).splitlines()) < 0.7 * len(source_of(kernel).splitlines())
    assert "max" in operations(small)
    (finding,) = run_case(small, ORACLES).verdict.findings
    assert finding.signature == "interpreter | emulator: test-maximum-is-minimum"
    path = KIND.write(tmp_path, small, finding, 5, 0, ORACLES)
    # Run by itself it uses the compiler as it is, which is sound.
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "all oracles agree" in ran.stdout


def test_a_reproducer_compares_for_the_architecture_that_showed_the_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx942")
    finding = FuzzFinding("unsound", "emulator: shared-race", "some text")
    path = KIND.write(tmp_path, generate(kernel_seed(5, 0)), finding, 5, 0, ("frontend",))
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "90")
    compared: list[object] = []
    monkeypatch.setattr(FuzzKind, "compare_again", lambda *given: compared.append(default_arch()))
    with knobs.runtime.scope(), pytest.raises(SystemExit):
        runpy.run_path(str(path), run_name="__main__")
    assert compared == ["gfx942"]


def test_the_tree_of_a_reproducer_is_the_kernel() -> None:
    from minitriton.fuzz import tree
    from minitriton.fuzz.generation.elements import ELEMENTS

    for number in range(20):
        kernel = generate(kernel_seed(6, number))
        assert eval(tree_text(kernel), {**vars(tree), "ELEMENTS": ELEMENTS}) == kernel


def test_shrinking_keeps_kernels_well_formed() -> None:
    seen: list[Kernel] = []

    def watch(kernel: Kernel) -> bool:
        seen.append(kernel)
        return len(seen) % 3 == 0

    KIND.shrink(generate(kernel_seed(7, 3)), watch, 2.0)
    for kernel in seen:
        try:
            analyse(kernel)
        except Unsound as error:
            raise AssertionError(source_of(kernel)) from error
