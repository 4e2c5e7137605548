"""The target's default pipelines: they replay from text, verify after each pass, and suit every architecture."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from triton_test_passes.allocate_shared_memory import AllocateSharedMemoryNV

import minitriton
from minitriton.codegen.assemblers import assembler_available
from minitriton.commands.opt import main as opt
from minitriton.compiler import ASTSource, CompiledKernel
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.errors import PassError, PipelineError
from minitriton.pipeline.pass_manager import Hook, PassManager, Pipeline, VerifyEach, representation_text
from minitriton.pipeline.pass_registry import Pass, Property, known_passes, registered_passes, with_implied
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.pipeline.request import Switches
from minitriton.pipeline.stages import first_properties, properties_of
from minitriton.runtime.launching.arguments import specialize
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.target.backends import STAGES
from minitriton_kernels.cases import CASES, Case, load_kernels

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


@pytest.mark.sampled(3)
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


@pytest.mark.sampled(3)
@every_case
def test_the_frontend_s_text_through_opt_makes_the_same_ptx(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = _FrontendText()
    kernel = compiled(case, hooks=[seen])
    path = tmp_path / "k.ttir"
    path.write_text(seen.text)
    to_ptx = kernel.metadata.pipeline.rpartition(",assemble-ptx")[0]
    assert opt([str(path), f"--pass-pipeline={to_ptx}"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == kernel.asm["ptx"].rstrip("\n")


@pytest.mark.sampled(3)
@every_case
def test_the_ir_is_valid_after_every_pass(case: Case) -> None:
    compiled(case, hooks=[VerifyEach()])


@pytest.mark.sampled(3)
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
    one = "minitriton-coalesce-by-width"
    assert one in every
    assert own_passes(without=one) == [name for name in every if name != one]
    assert own_passes(without=f"{one}, minitriton") == []
    left = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER, without="minitriton"))
    options = {key: value for step in left.steps if isinstance(step, Pass) for key, value in step.beyond_triton.items()}
    assert options == {
        "any_axis": False,
        "recompute_indices": False,
        "swap_tf32": False,
        "wide_integers": False,
        "least_scale": False,
        "slice_from": 0,
        "async_integer_dots": False,
        "exact_bounds": False,
    }
    assert all(getattr(step, key) == options[key] for step in left.steps for key in options if hasattr(step, key))


@pytest.mark.parametrize("ctas", [1, 2])
def test_the_lowering_needs_none_of_them(ctas: int) -> None:
    for name in (*dict.fromkeys(own_passes(num_ctas=ctas)), "minitriton"):
        options = CUDAOptions.for_target(HOPPER, num_ctas=ctas, without=name)
        pipeline_for(HOPPER, options).check(first_properties("source"))


def test_any_pass_can_be_left_out_that_is_there() -> None:
    left = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER, without="tritongpu-coalesce,canonicalize#2"))
    names = [step.name for step in left.steps]
    every = [step.name for step in pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER)).steps]
    assert "tritongpu-coalesce" not in names
    assert names.count("canonicalize") == every.count("canonicalize") - 1
    for wrong in ("minitriton-unknown", "canonicalize#99"):
        with pytest.raises(PipelineError, match=f"lacks pass '{wrong}'"):
            own_passes(without=wrong)


def test_the_contracts_of_a_pipeline_hold_from_ttir_to_ptx() -> None:
    pipeline = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER))
    assert Property.PTX in pipeline.check(first_properties("source"))


def without(*names: str) -> Pipeline:
    pipeline = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER))
    for name in names:
        pipeline = pipeline.skip(name)
    return pipeline


@pytest.mark.parametrize(
    ("pipeline", "refused", "helps"),
    [
        (without("tritongpu-assign-latencies"), "tritongpu-schedule-loops", "tritongpu-assign-latencies"),
        (without("triton-rewrite-tensor-pointer"), "convert-triton-to-tritongpu", "triton-rewrite-tensor-pointer"),
        (without("triton-nvidia-tma-lowering"), "convert-triton-gpu-to-llvm", "triton-nvidia-tma-lowering"),
        (without("inline"), "triton-rewrite-tensor-pointer", "inline"),
        (without("insert-barriers"), "minitriton-first-warp-barriers", "insert-barriers"),
        (without("insert-barriers", "minitriton-first-warp-barriers"), "minitriton-alternate-warp-groups", "insert-barriers"),
        (without("place-shared-memory"), "insert-proxy-fences", "place-shared-memory"),
        (without().insert("cse", before="tritongpu-pipeline"), "tritongpu-pipeline", "tritongpu-schedule-loops"),
        (without().insert("cse", before="insert-barriers"), "insert-barriers", "place-shared-memory"),
        (without().insert(AllocateSharedMemoryNV.name, before="place-shared-memory"), "place-shared-memory", "before 'allocate-shared-memory-nv'"),
        (without().insert("canonicalize", after="convert-triton-gpu-to-llvm"), "canonicalize", "before 'convert-triton-gpu-to-llvm'"),
        (without().move("tritongpu-schedule-loops", before="tritongpu-assign-latencies"), "tritongpu-schedule-loops", ""),
        (without().insert("triton-combine", after="tritongpu-coalesce"), "triton-combine", ""),
        (without("hold-wgmma-registers"), "convert-triton-gpu-to-llvm", "hold-wgmma-registers"),
        (without("triton-nvidia-gpu-fence-insertion"), "convert-triton-gpu-to-llvm", "triton-nvidia-gpu-fence-insertion"),
        (without("triton-nvidia-optimize-descriptor-encoding"), "tritongpu-pipeline", "triton-nvidia-optimize-descriptor-encoding"),
        (without("tritongpu-allocate-warp-groups"), "convert-triton-gpu-to-llvm", "tritongpu-allocate-warp-groups"),
        (without().move("tritongpu-accelerate-matmul", after="triton-nvidia-gpu-fence-insertion"), "convert-triton-gpu-to-llvm", "triton-nvidia-gpu-fence-insertion"),
        (without().move("minitriton-sink-dot-waits", after="hold-wgmma-registers"), "convert-triton-gpu-to-llvm", "hold-wgmma-registers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_an_order_that_cannot_work_is_refused_before_it_runs(pipeline: Pipeline, refused: str, helps: str) -> None:
    with pytest.raises(PipelineError, match=f"pass '{refused}'") as caught:
        pipeline.check(first_properties("source"))
    assert helps in (caught.value.help or "")


def test_programs_of_several_ctas_need_their_data_exchanged() -> None:
    options = CUDAOptions.for_target(HOPPER, num_ctas=2)
    pipeline = pipeline_for(HOPPER, options)
    pipeline.check(first_properties("source"))
    with pytest.raises(PipelineError, match="exchanges between CTAs lowered"):
        pipeline.skip("exchange-between-ctas").check(first_properties("source"))


def test_passes_behind_the_exchange_may_undo_it() -> None:
    """A program of several CTAs needs the exchange last; for one CTA nothing can make data come from others."""
    several = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER, num_ctas=2))
    one = pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER))
    one.insert("canonicalize", after="exchange-between-ctas").check(first_properties("source"))
    with pytest.raises(PipelineError, match="exchanges between CTAs lowered, which 'canonicalize' destroyed"):
        several.insert("canonicalize", after="exchange-between-ctas").check(first_properties("source"))


_ARGUMENTS = "%p: !tt.ptr<f32>, %n: i64, %i: i32, %d: !tt.tensordesc<tensor<64xf32>>, %x: tensor<16x16xf16>, %y: tensor<4x4x4xf32>"


def facts_of_body(body: str, ext: str = "ttir", target: GPUTarget = HOPPER) -> frozenset[Property]:
    return properties_of(parse_module(f"tt.func @k({_ARGUMENTS}) {{\n{body}\ntt.return\n}}"), ext, target)


@pytest.mark.parametrize(
    ("ext", "untrue", "body"),
    [
        ("ttir", {Property.BLOCK_POINTERS_REWRITTEN}, "%b = tt.make_tensor_ptr %p, [%n], [%n], [%i] {order = array<i32: 0>} : !tt.ptr<tensor<64xf32>>"),
        ("ttgir", {Property.NO_DESCRIPTORS, Property.DESCRIPTORS_LOWERED}, "%z = tt.descriptor_load %d[%i] : !tt.tensordesc<tensor<64xf32>> -> tensor<64xf32>"),
        ("ttir", {Property.NO_ASYNC_DOTS, Property.DOT_OPERANDS_FENCED, Property.DOT_REGISTERS_HELD}, "%z = tt.dot %x, %x, %x : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf16>"),
        ("ttir", {Property.NO_ASYNC_DOTS, Property.DOT_OPERANDS_FENCED, Property.DOT_REGISTERS_HELD}, '%z = "tt.reduce"(%y) ({\n^bb0(%a: f32, %b: f32):\ntt.reduce.return %a : f32\n}) {axis = 1 : i32} : (tensor<4x4x4xf32>) -> tensor<4x4xf32>'),
        ("ttir", {Property.NO_PARTITIONS}, "scf.for %k = %i to %i step %i : i32 {\n} {tt.warp_specialize}"),
    ],
)  # fmt: skip
def test_what_a_kernel_holds_says_which_passes_it_needs(ext: str, untrue: set[Property], body: str) -> None:
    assert facts_of_body("", ext) - facts_of_body(body, ext) == untrue


def test_a_kernel_without_dots_descriptors_and_partitions_needs_no_pass_for_them() -> None:
    left = without(
        "triton-nvidia-gpu-fence-insertion", "hold-wgmma-registers", "tritongpu-allocate-warp-groups",
        "triton-nvidia-optimize-descriptor-encoding", "triton-nvidia-tma-lowering",
    )  # fmt: skip
    assert Property.PTX in left.check(facts_of_body(""))


def test_dots_before_hopper_need_neither_fences_nor_held_registers() -> None:
    ampere = GPUTarget("cuda", 80)
    pipeline = pipeline_for(ampere, CUDAOptions.for_target(ampere)).skip("hold-wgmma-registers")
    assert Property.PTX in pipeline.check(first_properties("source"))


def test_what_holds_after_a_pass_is_what_it_keeps_and_establishes() -> None:
    """The contract algebra: nothing else holds, and what is implied always does."""
    for step in pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER)).steps:
        for holds in (
            frozenset[Property](),
            frozenset(Property),
            first_properties("source"),
            first_properties("ttgir"),
        ):
            assert step.after(holds) == with_implied(holds & step.keeps | step.established())


def test_stage_and_origin_are_data_of_the_class() -> None:
    modules = {name: cls.__module__.split(".") for name, cls in known_passes().items()}
    ours = {n: cls for n, cls in known_passes().items() if modules[n][0] == "minitriton" and "amd" not in modules[n]}
    assert {name for name, cls in ours.items() if cls.origin == "optional"} == {
        n for n in ours if n.startswith("minitriton-")
    }
    assert {name for name, cls in ours.items() if cls.origin == "required"} == {
        "hold-wgmma-registers", "exchange-between-ctas", "place-shared-memory", "insert-proxy-fences", "insert-barriers",
        "limit-registers", "translate-to-llvm-ir", "optimize-llvm-ir", "emit-ptx",
        "assemble-ptx", "mark-undefined-lanes",
    }  # fmt: skip
    assert {name for name, cls in ours.items() if cls.stage is None} == {
        "inline", "canonicalize", "cse", "symbol-dce", "sccp", "loop-invariant-code-motion", "triton-licm", "triton-loop-aware-cse",
        "limit-registers", "mark-undefined-lanes",
    }  # fmt: skip
    stages = [step.stage for step in without().steps if step.stage]
    assert stages == sorted(stages, key=STAGES.index)


def test_every_pass_says_what_it_needs() -> None:
    silent = [
        name for name, cls in known_passes().items() if not cls.requires and cls.__module__.startswith("minitriton.")
    ]
    assert silent == []


def test_pipelines_parse_in_a_fresh_interpreter() -> None:
    code = "from minitriton.pipeline.pass_manager import Pipeline; print(Pipeline.parse('inline,tritongpu-coalesce,emit-ptx'))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "inline,tritongpu-coalesce,emit-ptx"


def test_pipelines_are_values_that_can_be_edited() -> None:
    pipeline = Pipeline.parse("inline,canonicalize,cse,canonicalize,sccp")
    assert str(pipeline.skip("canonicalize")) == "inline,cse,sccp"
    assert str(pipeline.skip("canonicalize#2")) == "inline,canonicalize,cse,sccp"
    assert str(pipeline.move("sccp", before="cse")) == "inline,canonicalize,sccp,cse,canonicalize"
    assert str(pipeline.move("inline", after="canonicalize#2")) == "canonicalize,cse,canonicalize,inline,sccp"
    assert str(pipeline.insert("symbol-dce", after="cse").replace("inline", "cse")).startswith(
        "cse,canonicalize,cse,symbol-dce"
    )
    for wrong in (lambda: pipeline.move("canonicalize", before="cse"), lambda: pipeline.insert("cse")):
        with pytest.raises(PipelineError):
            wrong()


class _PlacesAt4096(Hook):
    """Stands for a user's pass that places the one scratch of a kernel itself."""

    def before(self, step: Any, value: Any) -> None:
        if step.name == "place-shared-memory":
            for op in value.walk():
                if op.name == "tt.reduce":
                    op.attributes["allocation.offset"] = i32_attr(4096)
            value.attributes["ttg.shared"] = i32_attr(8192)


def test_shared_memory_that_a_pass_has_placed_stays_there() -> None:
    case = next(case for case in CASES if case.name == "sum_rows")
    kernel = compiled(case, hooks=[_PlacesAt4096()], num_warps=8)
    usual = compiled(case, hooks=[Hook()], num_warps=8)
    assert kernel.metadata.shared == 8192 and usual.metadata.shared < 4096
    assert "4096" in kernel.asm["ptx"] and kernel.asm["ptx"] != usual.asm["ptx"]


def test_given_places_that_overlap_are_an_error() -> None:
    class AllAtZero(Hook):
        """Puts everything at the same place."""

        def before(self, step: Any, value: Any) -> None:
            if step.name == "place-shared-memory":
                for op in value.walk():
                    if op.name in ("tt.reduce", "ttg.local_alloc", "ttg.convert_layout"):
                        op.attributes["allocation.offset"] = i32_attr(0)

    text = """
    #blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
    #shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
    #smem = #ttg.shared_memory
    module attributes {"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {
      tt.func public @f(%x: tensor<128xf32, #blocked>) {
        %a = ttg.local_alloc %x : (tensor<128xf32, #blocked>) -> !ttg.memdesc<128xf32, #shared, #smem>
        %b = ttg.local_alloc %x : (tensor<128xf32, #blocked>) -> !ttg.memdesc<128xf32, #shared, #smem>
        %c = ttg.local_load %a : !ttg.memdesc<128xf32, #shared, #smem> -> tensor<128xf32, #blocked>
        %d = ttg.local_load %b : !ttg.memdesc<128xf32, #shared, #smem> -> tensor<128xf32, #blocked>
        tt.return
      }
    }
    """
    with pytest.raises(PassError, match="overlaps"):
        PassManager(Pipeline.parse("place-shared-memory"), [AllAtZero()]).run(make_context(), parse_module(text))


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
            "inline,triton-rewrite-tensor-pointer,convert-triton-to-tritongpu{target=cuda:90},"
            "convert-triton-to-tritongpu{target=cuda:90}",
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

from minitriton.pipeline.pass_registry import Pass, register_pass


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
