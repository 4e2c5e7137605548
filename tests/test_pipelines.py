"""The target's own pipelines: they replay from text, verify after each pass, and suit every architecture."""

import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case, load_kernels

import minitriton
from minitriton.codegen.cubin import assembler_available
from minitriton.compiler import ASTSource, CompiledKernel
from minitriton.errors import PipelineError
from minitriton.opt import main as opt
from minitriton.pass_manager import Hook, Pipeline, VerifyEach, representation_text
from minitriton.pass_registry import Property, registered_passes
from minitriton.pipelines import Switches, pipeline_for
from minitriton.runtime.arguments import specialize
from minitriton.target import CUDAOptions, GPUTarget

every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
every_architecture = pytest.mark.parametrize("arch", [80, 86, 89, 90])
HOPPER = GPUTarget("cuda", 90)


def source_of(case: Case) -> ASTSource:
    """The source that a launch of `case` compiles."""
    arguments = case.inputs(np.random.default_rng(0))
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    signature = dict.fromkeys(kernel.arg_names, "constexpr")
    attrs: dict[tuple[int, ...], Any] = {}
    for index, (name, value) in enumerate(zip(kernel.arg_names, arguments, strict=False)):
        kind, key = specialize(value, False, True, True)
        signature[name] = kind
        if key == "D" or kind.startswith("*"):
            attrs[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(kernel, signature, dict(case.constexprs), attrs)


def compiled(case: Case, target: GPUTarget = HOPPER, hooks: list[Hook] | None = None, **options: Any) -> CompiledKernel:
    return minitriton.compile(source_of(case), target, {"num_warps": case.num_warps, **options}, hooks=hooks)


@every_case
def test_the_text_of_a_pipeline_given_back_makes_the_same_ptx(case: Case) -> None:
    kernel = compiled(case)
    again = compiled(case, pipeline=kernel.metadata.pipeline, hooks=[Hook()])
    assert again.asm["ptx"] == kernel.asm["ptx"]
    assert again.metadata.shared == kernel.metadata.shared


class _FrontendText(Hook):
    """The TTIR as the frontend leaves it."""

    text = ""

    def before(self, step: Any, value: Any) -> None:
        if not self.text:
            self.text = representation_text(value)


@every_case
def test_the_frontend_s_text_through_opt_makes_the_same_ptx(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = _FrontendText()
    kernel = compiled(case, hooks=[seen])
    path = tmp_path / "k.ttir"
    path.write_text(seen.text)
    assert opt([str(path), f"--pass-pipeline={kernel.metadata.pipeline}"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == kernel.asm["ptx"].rstrip("\n")


@every_case
def test_the_ir_is_valid_after_every_pass(case: Case) -> None:
    compiled(case, hooks=[VerifyEach()])


@every_architecture
@every_case
def test_every_kernel_compiles_for_every_architecture(case: Case, arch: int) -> None:
    kernel = compiled(case, GPUTarget("cuda", arch))
    assert re.findall(r"^\.target (\S+)$", kernel.asm["ptx"].split(", debug")[0], re.MULTILINE)[:1] == [
        "sm_90a" if arch == 90 else f"sm_{arch}"
    ]
    if assembler_available():
        assert kernel.asm["cubin"].startswith(b"\x7fELF")


@every_architecture
@pytest.mark.parametrize("options", [{}, {"num_warps": 8}, {"enable_fp_fusion": False}, {"ptx_version": 84}], ids=str)
def test_a_pipeline_is_equal_to_what_its_text_parses_to(arch: int, options: dict[str, Any]) -> None:
    target = GPUTarget("cuda", arch)
    pipeline = pipeline_for(target, CUDAOptions.for_target(target, **options))
    assert Pipeline.parse(str(pipeline)) == pipeline


def test_switches_change_the_pipeline_although_it_is_remembered() -> None:
    options = CUDAOptions.for_target(HOPPER)
    plain = str(pipeline_for(HOPPER, options))
    assert "line-info=false" in str(pipeline_for(HOPPER, options, Switches(line_info=False)))
    assert "level=0" in str(pipeline_for(HOPPER, options, Switches(optimize_llvm=False)))
    assert str(pipeline_for(HOPPER, options)) == plain


def own_passes(**options: Any) -> list[str]:
    pipeline = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER, **options))
    return [step.name for step in pipeline.steps if step.name.startswith("minitriton-")]


def test_passes_that_triton_does_not_have_can_be_left_out_one_by_one_or_all() -> None:
    every = own_passes()
    one = "minitriton-outer-reduction-layout"
    assert one in every
    assert own_passes(without=one) == [name for name in every if name != one]
    assert own_passes(without=f"{one}, minitriton") == []


def test_only_passes_that_are_there_and_not_triton_s_can_be_left_out() -> None:
    for wrong in ("tritongpu-coalesce", "minitriton-unknown"):
        with pytest.raises(PipelineError, match=f"no pass '{wrong}'"):
            own_passes(without=wrong)


def test_the_contracts_of_a_pipeline_hold_from_ttir_to_ptx() -> None:
    pipeline = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER))
    assert Property.PTX in pipeline.check({Property.TTIR, Property.STRUCTURED})


class _Runs(Hook):
    """Which passes were begun."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def before(self, step: Any, value: Any) -> None:
        self.names.append(step.name)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("inline,tritongpu-coalesce", "'tritongpu-coalesce' (number 2) needs: tensor encodings present"),
        ("inline,emit-ptx", "'emit-ptx' (number 2) needs: LLVM IR"),
        ("inline,translate-to-llvm-ir", "needs: llvm dialect"),
        (
            "inline,convert-triton-to-tritongpu{target=cuda:90},convert-triton-to-tritongpu{target=cuda:90}",
            "which 'convert-triton-to-tritongpu' destroyed",
        ),
    ],
)
def test_an_impossible_order_is_refused_before_anything_runs(pipeline: str, message: str) -> None:
    runs = _Runs()
    with pytest.raises(PipelineError) as error:
        compiled(CASES[0], pipeline=pipeline, hooks=[runs])
    assert message in str(error.value)
    assert runs.names == []


PACKAGE_PASS = '''
from dataclasses import dataclass

from minitriton.pass_registry import Pass, register_pass


@register_pass
@dataclass(frozen=True)
class Stamp(Pass):
    """Leaves a mark on the module."""

    name = "installed-stamp"

    def apply(self, ctx, op):
        from xdsl.dialects.builtin import UnitAttr

        op.attributes["stamped"] = UnitAttr()
'''


def installed_package(folder: Path, module: str, source: str) -> None:
    """What `pip install` leaves of a package whose entry point in `minitriton.passes` is `module`."""
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[minitriton.passes]\nstamp = {module}\n")


def test_an_installed_package_s_passes_are_found_by_their_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_package(tmp_path, "stamping_passes", PACKAGE_PASS)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "installed-stamp" not in registered_passes()
    assert "stamped" in compiled(CASES[0], pipeline="inline,installed-stamp").asm["ttir"]


def test_an_installed_package_whose_passes_fail_to_load_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_package(tmp_path, "unlicensed_passes", "raise ValueError('no license')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [e.value for e in importlib.metadata.entry_points(group="minitriton.passes") if "unlicensed" in e.value]
    with pytest.raises(PipelineError, match=r"passes of package 'unlicensed_passes' .* failed to load: no license"):
        Pipeline.parse("no-such-pass")
    assert "unlicensed_passes" not in sys.modules
