"""A pass that is taken to be idle would have changed nothing, and one that says it changed nothing has changed nothing: over the growing families,
the examples and the corpus, where passes of every kind find something to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import source_parts
from growth_families import FAMILIES
from parity_cases import ALL_CASES
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import minitriton
import minitriton.pipeline.pass_manager
from minitriton.compiler import ASTSource
from minitriton.dialects.fast_paths.copying import IRSnapshot
from minitriton.dialects.text import print_module
from minitriton.pipeline.pass_manager import IdlePasses
from minitriton.pipeline.pass_registry import Pass, known_passes
from minitriton.target import GPUTarget
from minitriton_kernels.cases import Case, load_kernels

BUSY = ("pipelining", "products", "clusters", "reducing", "scanning", "control", "atomics", "shapes")
"""Files of the corpus whose kernels have loops, products, descriptors, reductions, branches, calls."""

CASES = [
    (case, arch)
    for case in ALL_CASES
    if Path(case.file).name in BUSY
    for arch in (80, 90)
    if case.num_ctas == 1 or arch >= 90
]

SAYS = (
    "canonicalize",
    "cse",
    "minitriton-coalesce-by-width",
    "minitriton-enumerate-indices",
    "minitriton-merge-tile-axes",
    "minitriton-simplify-integers",
    "minitriton-sink-widening-casts",
    "symbol-dce",
    "triton-combine",
    "triton-licm",
    "triton-loop-aware-cse",
    "triton-nvidia-gpu-fence-insertion",
    "triton-nvidia-optimize-descriptor-encoding",
    "triton-reorder-broadcast",
    "tritongpu-combine-tensor-select-and-if",
    "tritongpu-optimize-thread-locality",
    "tritongpu-remove-layout-conversions",
)


class Watched(IdlePasses):
    """Runs every pass, and compares the IR where that was needless, and where ops that rest were passed by."""

    def run(self, step: Pass, index: int, ctx: Context, module: ModuleOp) -> None:
        before = IRSnapshot(module)
        if not self.is_idle(step, module):
            whole = module.clone() if type(step).apply_to_folded is not Pass.apply_to_folded else None
            super().run(step, index, ctx, module)
            if whole is not None:
                step.apply(ctx, whole)
                assert print_module(whole) == print_module(module), f"{step.name} passed something by"
            return
        step.apply(ctx, module)
        assert before.matches(module), f"{step.name} was taken to be idle"


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles are watched, and find no result in the cache."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setattr(minitriton.pipeline.pass_manager, "IdlePasses", Watched)
    for name in SAYS:
        cls: Any = known_passes()[name]
        monkeypatch.setattr(cls, "apply", _right_about_itself(cls.apply))


def _right_about_itself(apply: Callable[..., Any]) -> Callable[..., Any]:
    def checked(step: Pass, ctx: Context, module: ModuleOp) -> Any:
        before = IRSnapshot(module)
        changed = apply(step, ctx, module)
        assert changed is not False or before.matches(module), f"{step.name} said that nothing changed"
        return changed

    return checked


def _compile_family(family: str, tmp_path: Path) -> None:
    program = FAMILIES[family].program(32 if family.endswith(" n") else 3)
    path = tmp_path / f"idle_{family.replace(' ', '_')}.py"
    path.write_text(program.text)
    kernel = load_kernels(str(path.with_suffix("")), "minitriton").kernel
    source = ASTSource(kernel, program.signature, program.constexprs, program.attributes)
    minitriton.compile(source, GPUTarget("cuda", 90), {"num_warps": program.num_warps}, assemble=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.usefixtures("watched")
def test_nothing_is_left_out_of_a_growing_kernel(family: str, tmp_path: Path) -> None:
    _compile_family(family, tmp_path)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("case", "arch"), CASES, ids=lambda part: getattr(part, "name", f"sm_{part}"))
@pytest.mark.usefixtures("watched")
def test_nothing_is_left_out_of_a_kernel_of_the_corpus(case: Case, arch: int) -> None:
    source = ASTSource(getattr(load_kernels(case.file, "minitriton"), case.kernel), *source_parts(case))
    minitriton.compile(source, GPUTarget("cuda", arch), case.launch_options, assemble=False)


def test_a_kernel_without_counted_loops_and_products_runs_none_of_their_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def apply(self: IdlePasses, step: Pass, index: int, ctx: Context, module: ModuleOp) -> None:
        if not self.is_idle(step, module):
            ran.append(step.name)
        run(self, step, index, ctx, module)

    run = IdlePasses.run
    monkeypatch.setattr(IdlePasses, "run", apply)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    _compile_family("while loops", tmp_path)
    assert not {name for name in ran if "dot" in name or "pipeline" in name or "loops" in name or "matmul" in name}
    assert ran.count("canonicalize") <= 3
    assert ran.count("triton-loop-aware-cse") == ran.count("tritongpu-prefetch") + 1 == 1


def test_a_pass_without_its_ops_is_not_run() -> None:
    idle = IdlePasses(())
    loops, anything = known_passes()["tritongpu-pipeline"](), known_passes()["sccp"]()
    assert isinstance(loops, Pass) and isinstance(anything, Pass)
    assert idle.is_idle(loops, ModuleOp([]))
    assert not idle.is_idle(anything, ModuleOp([]))
