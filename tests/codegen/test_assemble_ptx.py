"""`assemble-ptx`: what assemblers are given, and under which limits of registers a kernel is assembled."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from minitriton.codegen import assemble_ptx, assemblers, nvjitlink
from minitriton.codegen.assemble_ptx import AssemblePTX, demand_of, limited
from minitriton.codegen.assembled_code import Cubin
from minitriton.codegen.cubin_resources import KernelResources
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError, PipelineError
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pipelines import assembly_step, whole_pipeline
from minitriton.pipeline.request import environment_switches
from minitriton.pipeline.stages import assemble
from minitriton.target import CUDAOptions, GPUTarget

H100 = GPUTarget("cuda", 90, 32)

FAKE_PTXAS = """#!/bin/sh
echo "$@" > "$(dirname "$0")/arguments"
echo "ptxas info: Used 10 registers" >&2
while [ "$1" != "-o" ]; do shift; done
echo cubin > "$2"
"""


@pytest.fixture
def ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tool = tmp_path / "ptxas"
    tool.write_text(FAKE_PTXAS)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("MINITRITON_ASSEMBLER", "ptxas")
    monkeypatch.setenv("MINITRITON_PTXAS", str(tool))
    return tmp_path / "arguments"


def assembled(ptx: str, options: CUDAOptions = CUDAOptions()) -> Cubin:
    return assemble(ptx, assembly_step(H100, options, environment_switches()))


def test_the_step_has_the_kernel_s_options_and_the_environment_s(ptxas: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXAS_OPTIONS", "--warn-on-spills")
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "1")
    options = CUDAOptions(enable_fp_fusion=False, maxnreg=64, ptx_options="--def-load-cache=cg")
    text = str(whole_pipeline(H100, options, environment_switches()))
    expected = (
        "assemble-ptx{registers=64 enable-fp-fusion=false assembler=ptxas "
        'flags="--opt-level=0 --warn-on-spills --def-load-cache=cg"}'
    )
    assert text.endswith(expected)
    assert assemble("", text) == b"cubin\n"
    given = ptxas.read_text().split()
    assert given[0] == "--gpu-name=sm_90a"
    wanted = ["--fmad=false", "--opt-level=0", "--warn-on-spills", "--def-load-cache=cg"]
    assert [flag for flag in given if flag in wanted] == wanted


def test_a_pipeline_of_ones_own_that_assembles_is_left_alone() -> None:
    step = "assemble-ptx{registers=unlimited}"
    assert str(whole_pipeline(H100, CUDAOptions(pipeline=f"emit-ptx,{step}"))) == f"emit-ptx,{step}"
    assert str(whole_pipeline(H100, CUDAOptions(pipeline="emit-ptx"))) == "emit-ptx,assemble-ptx"


@pytest.mark.parametrize("options", ["registers=0", "registers=256", "registers=few", "assembler=as"])
def test_wrong_options_are_refused(options: str) -> None:
    with pytest.raises(PipelineError):
        Pipeline.parse(f"assemble-ptx{{{options}}}")


def test_what_ptxas_says_is_shown_where_asked_for(
    ptxas: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assembled("")
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("TRITON_DUMP_PTXAS_LOG", "1")
    assembled("")
    assert capsys.readouterr().out == "ptxas info: Used 10 registers\n"
    assert ptxas.read_text().split()[0] == "-v"


def test_nvjitlink_gets_options_of_ptxas_in_its_own_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        given.extend(flags)
        return nvjitlink.Assembled(b"cubin")

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    assembled("\t.loc", CUDAOptions(enable_fp_fusion=False, ptx_options="--warn-on-spills"))
    assert given == ["-arch=sm_90a", "-lineinfo", "-Xptxas=--fmad=false", "-Xptxas=--warn-on-spills"]


Behaviour = Callable[[int | None], tuple[int, int] | None]
"""Registers and spilled bytes under a limit (None: no limit); None if the assembler refuses it."""
Tried = list[int | None]


@pytest.fixture
def behaves(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tried]:
    """Puts an assembler that behaves as given in place of nvJitLink; the limits that it was asked for, as they come."""

    def install(behaviour: Behaviour, serialized: tuple[int | None, ...] = ()) -> Tried:
        tried: Tried = []

        def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
            found = re.search(r"\.maxnreg (\d+)\n", ptx)
            limit = int(found[1]) if found else None
            tried.append(limit)
            made = behaviour(limit)
            if made is None:
                raise MinitritonError("ptxas fatal : (C7602) Insufficient registers to compile instruction at line 1")
            log = "(C7511) wgmma.mma_async instructions are serialized due to ..." if limit in serialized else ""
            return nvjitlink.Assembled("{}:{}".format(*made).encode(), log)

        def resources(cubin: bytes, name: str) -> KernelResources:
            assert name == "kernel"
            return KernelResources(*map(int, cubin.decode().split(":")))

        monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
        monkeypatch.setattr(nvjitlink, "assemble", assemble)
        monkeypatch.setattr(assemble_ptx, "kernel_resources", resources)
        return tried

    return install


def kernel(demand: str = "", threads: int = 128, lines: int = 0) -> str:
    comment = f"// demand: {demand}\n" if demand else ""
    body = "\tbar.sync 0;\n" * lines
    return f"{comment}.visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid {threads}\n{{\n{body}}}\n"


def takes(free: int, *, spills: dict[int | None, int] | None = None) -> Behaviour:
    """All of a limit, or `free`; and what is spilled under some limits."""
    return lambda limit: (limit or free, (spills or {}).get(limit, 0))


@pytest.mark.parametrize(("spilled", "taken"), [(16, b"32:16"), (24, b"40:16")], ids=["as much", "more"])
def test_a_limit_is_taken_where_nothing_more_spills(spilled: int, taken: bytes, behaves: Callable[..., Tried]) -> None:
    behaves(takes(40, spills={None: 16, 32: spilled}))
    cubin = assembled(kernel())
    assert cubin == taken
    assert cubin.unlimited == (b"40:16" if taken == b"32:16" else None)


def test_long_ptx_is_assembled_once(behaves: Callable[..., Tried]) -> None:
    tried = behaves(takes(40))
    assert assembled(kernel(lines=assemble_ptx.MOST_LINES)) == b"40:0" and tried == [None]


def test_a_limit_of_ones_own_or_none_is_all_that_is_tried(behaves: Callable[..., Tried]) -> None:
    tried = behaves(takes(40))
    for step in ("assemble-ptx{registers=unlimited}", "assemble-ptx{registers=56}"):
        assemble(kernel(), step)
    assert tried == [None, 56]


def test_each_kernel_of_ptx_that_has_no_limit_gets_one() -> None:
    """Neither assembler takes `--maxrregcount` for a kernel that says its threads."""
    a, b = ".visible .entry a(.param .u64 p)\n.reqntid 64 ", ".entry b\n"
    of_its_own = ".visible .entry c()\n.maxnreg 40\n{ret;}\n"
    ptx = "// .maxnreg, of .entry d\n{}{{\nret;\n}}\n{}{{\nret;\n}}\n" + of_its_own.replace("{", "{{").replace(
        "}", "}}"
    )
    assert limited(ptx.format(a, b), 64) == ptx.format(a + ".maxnreg 64\n", b + ".maxnreg 64\n")


@pytest.mark.parametrize(
    ("threads", "spills", "tried", "taken"),
    [
        (128, {None: 200, 168: 16}, [None], b"255:200"),
        (64, {None: 200, 200: 16}, [None, 200], b"200:16"),
    ],
    ids=["to 168 of 255", "to 200 of 255"],
)
def test_a_kernel_that_spills_all_its_registers_is_assembled_again_for_a_near_limit_only(
    threads: int, spills: dict[int | None, int], tried: Tried, taken: bytes, behaves: Callable[..., Tried]
) -> None:
    found = behaves(takes(255, spills=spills))
    assert assembled(kernel("shared_bytes=30000", threads)) == taken
    assert found == tried


def test_a_kernel_that_spills_is_tried_under_a_far_limit_if_what_it_loads_leaves_room(
    behaves: Callable[..., Tried],
) -> None:
    tried = behaves(takes(254, spills={None: 32, 64: 64}))
    assert assembled(kernel("filled=64 held=20")) == b"168:0" and 168 in tried
    tried = behaves(takes(254, spills={None: 32, 64: 64}))
    assert assembled(kernel("filled=120 held=120")) == b"254:32" and tried == [None]


def test_a_kernel_that_the_limit_is_too_low_for_goes_without(behaves: Callable[..., Tried]) -> None:
    behaves(lambda limit: None if limit == 32 else (40, 16))
    assert assembled(kernel()) == b"40:16"


@pytest.mark.parametrize(
    ("spilling", "tried", "taken"),
    [
        ((), [None, 168, 64], b"64:0"),
        ((64,), [None, 168, 64], b"168:0"),
        ((64, 168), [None, 168], b"254:0"),
    ],
)
def test_far_limits_come_last_where_all_registers_were_given(
    spilling: tuple[int, ...], tried: Tried, taken: bytes, behaves: Callable[..., Tried]
) -> None:
    found = behaves(takes(254, spills=dict.fromkeys(spilling, 8)))
    assert assembled(kernel()) == taken and found == tried


@pytest.mark.parametrize(
    ("free", "spilling", "tried", "taken"),
    [
        (149, (), [None, 64], b"64:0"),
        (149, (64,), [None, 64, 128], b"128:0"),
        (98, (), [None, 64], b"64:0"),
        (98, (64, 96), [None, 64, 96], b"98:0"),
    ],
)
def test_limits_are_tried_best_first(
    free: int, spilling: tuple[int, ...], tried: Tried, taken: bytes, behaves: Callable[..., Tried]
) -> None:
    found = behaves(takes(free, spills=dict.fromkeys(spilling, 8)))
    assert assembled(kernel()) == taken and found == tried


@pytest.mark.parametrize(("serialized", "taken"), [((32,), b"40:0"), ((32, None), b"32:0")], ids=["free", "both"])
def test_a_limit_under_which_dots_are_serialized_is_not_taken(
    serialized: tuple[int | None, ...], taken: bytes, behaves: Callable[..., Tried]
) -> None:
    behaves(takes(40), serialized)
    assert assembled(kernel()) == taken


@pytest.mark.parametrize(
    ("accumulators", "free", "spilled", "shared", "tried"),
    [
        (120, 187, 0, 49152, [None, 168]),
        (120, 187, 16, 49152, [None]),
        (240, 187, 0, 49152, [None]),
        (120, 187, 0, 98304, [None]),
        (120, 168, 0, 49152, [None, 128]),
    ],
    ids=["a CTA more", "spills already", "accumulators do not fit", "shared memory is full", "the next CTA"],
)
def test_dots_are_assembled_for_a_cta_more(
    accumulators: int, free: int, spilled: int, shared: int, tried: Tried, behaves: Callable[..., Tried]
) -> None:
    found = behaves(takes(free, spills={None: spilled}))
    cubin = assembled(kernel(f"accumulators={accumulators} dots=1 shared_bytes={shared}"))
    assert found == tried
    assert (cubin.unlimited is not None) == (len(tried) == 2)


@pytest.mark.parametrize(
    ("demand", "under_128", "serialized", "tried", "taken"),
    [
        ("register_operands=4", (124, 0), False, [128], b"124:0"),
        ("", (128, 0), False, [None, 128], b"128:0"),
        ("register_operands=4", (128, 8), False, [128, None], b"158:0"),
        ("register_operands=4", (128, 0), True, [128, None], b"158:0"),
        ("register_operands=4", (96, 0), False, [128, None], b"96:0"),
    ],
    ids=["fits", "operands not in registers", "spills", "serialized", "takes less"],
)
def test_a_limit_that_is_expected_is_tried_first(
    demand: str,
    under_128: tuple[int, int],
    serialized: bool,
    tried: Tried,
    taken: bytes,
    behaves: Callable[..., Tried],
) -> None:
    found = behaves(lambda limit: under_128 if limit == 128 else (158, 0), (128,) if serialized else ())
    ptx = kernel(f"accumulators=64 dots=1 shared_bytes=98304 {demand}", 256)
    assert assembled(ptx) == taken and found == tried
    assert assemble(ptx, "assemble-ptx", registers="unlimited") == b"158:0"


def test_a_sum_of_many_loads_is_assembled_under_its_limit_first(behaves: Callable[..., Tried]) -> None:
    tried = behaves(takes(160))
    assert assembled(kernel("filled=200 held=3")) == b"64:0" and tried == [64]


def test_a_limit_under_which_what_was_loaded_does_not_fit_is_not_tried(behaves: Callable[..., Tried]) -> None:
    """Prefix sums keep all numbers until the last is there."""
    tried = behaves(takes(168))
    assert assembled(kernel("filled=128 held=100")) == b"128:0" and tried == [None, 128]


def test_loads_of_an_iteration_are_not_split(behaves: Callable[..., Tried]) -> None:
    tried = behaves(takes(98))
    assembled(kernel("carried=64 loaded=64 reading_loops=1"))
    assert tried == [None]


def test_a_kernel_that_prints_is_assembled_once(behaves: Callable[..., Tried]) -> None:
    tried = behaves(takes(80))
    assembled(kernel("filled=8 prints=1", 256))
    assert tried == [None]


def test_the_table_marks_what_was_taken(behaves: Callable[..., Tried]) -> None:
    behaves(takes(80))
    assert assembled(kernel(threads=256)).table() == (
        "   no limit   80 registers     0 bytes spilled   3 CTAs on an SM\n"
        "->       64   64 registers     0 bytes spilled   4 CTAs on an SM"
    )


def test_ptx_says_what_it_demands() -> None:
    assert demand_of(kernel("accumulators=64 loaded=8 unknown=1")).accumulators == 64
    assert demand_of("").loaded == 0


def test_an_assembler_that_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_ASSEMBLER", "as")
    with pytest.raises(MinitritonError, match="not one of nvjitlink, ptxas, driver"):
        assemblers.chosen_assembler()


@pytest.mark.parametrize("found", ["/tools/ptxas", None])
def test_registers_that_move_between_warps_are_left_to_ptxas(
    monkeypatch: pytest.MonkeyPatch, found: str | None
) -> None:
    """nvJitLink makes relocatable code, in which `setmaxnreg` is ignored."""
    monkeypatch.setattr(assemblers.nvjitlink, "load_library", lambda: object())
    monkeypatch.setattr(assemblers, "find_ptxas", lambda: found)
    assert assemblers.assembler_for("bar.sync 0;") == "nvjitlink"
    moving = "setmaxnreg.inc.sync.aligned.u32 240;"
    if found:
        assert assemblers.assembler_for(moving) == "ptxas"
    else:
        with pytest.warns(UserWarning, match="install nvidia-cuda-nvcc"):
            assert assemblers.assembler_for(moving) == "nvjitlink"
    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    assert assemblers.assembler_for(moving) == "nvjitlink"


def test_the_step_takes_ptx_alone() -> None:
    with pytest.raises(PipelineError, match="needs: PTX"):
        Pipeline((AssemblePTX(),)).check(())


def test_the_command_line_gives_the_step_other_options(capsys: pytest.CaptureFixture[str]) -> None:
    signature = ["--signature", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=1024", "--emit", "pipeline"]
    step = ["--set", "assemble-ptx{registers=64}"]
    assert main(["compile", "minitriton_kernels/vector_add.py:vector_add", *signature, *step]) == 0
    assert capsys.readouterr().out.strip().endswith("emit-ptx,assemble-ptx{registers=64}")


@pytest.mark.parametrize(
    ("demand", "free", "by_ptxas", "taken", "asked"),
    [
        ("filled=64 held=64", "221:0", "72:0", b"72:0", ["nvjitlink", "nvjitlink", "ptxas"]),
        ("filled=64 held=64", "221:0", "72:8", b"200:0", ["nvjitlink", "nvjitlink", "ptxas"]),
        ("carried=8 loaded=8 reading_loops=1", "221:0", "72:0", b"112:0", ["nvjitlink", "nvjitlink"]),
        ("carried=8 dots=1 accumulators=128", "255:120", "255:64", b"255:64", ["nvjitlink", "ptxas"]),
        ("carried=8 dots=1 accumulators=128", "255:120", "255:120", b"255:120", ["nvjitlink", "ptxas"]),
    ],
    ids=["more CTAs", "spills", "loads in a loop", "spills less", "spills as much"],
)
def test_a_kernel_that_spills_or_leaves_an_sm_empty_is_assembled_by_ptxas_too(
    demand: str, free: str, by_ptxas: str, taken: bytes, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def assemble(ptx: str, sm: str, flags: list[str], assembler: str) -> nvjitlink.Assembled:
        found.append(assembler)
        limit = re.search(r"\.maxnreg (\d+)\n", ptx)
        text = by_ptxas if assembler == "ptxas" else f"{limit[1]}:0" if limit else free
        return nvjitlink.Assembled(text.encode(), "")

    monkeypatch.delenv("MINITRITON_ASSEMBLER", raising=False)
    monkeypatch.setattr(assemblers.nvjitlink, "load_library", lambda: object())
    monkeypatch.setattr(assemble_ptx, "find_ptxas", lambda: "/somewhere/ptxas")
    monkeypatch.setattr(assemble_ptx, "assemble", assemble)
    monkeypatch.setattr(
        assemble_ptx, "kernel_resources", lambda cubin, _: KernelResources(*map(int, cubin.split(b":")))
    )
    cubin = assembled(kernel(demand, threads=64))
    assert (cubin, found) == (taken, asked)
    assert cubin.unlimited == (None if taken == free.encode() else free.encode())


def test_between_a_limit_that_spills_and_none_the_next_one_is_tried(behaves: Callable[..., Tried]) -> None:
    tried = behaves(takes(214, spills={128: 40}))
    assert assembled(kernel("carried=32 loaded=32 reading_loops=1 filled=16 shared_bytes=8192")) == b"168:0"
    assert tried == [None, 128, 168]


@pytest.mark.parametrize(
    ("threads", "free", "spilling", "tried", "taken"),
    [
        (64, 155, (64,), [None, 64, 144, 128], b"128:0"),
        (64, 155, (64, 128), [None, 64, 144, 128], b"144:0"),
        (256, 88, (), [None, 64, 48], b"48:0"),
        (256, 48, (), [None], b"48:0"),
    ],
    ids=["two CTAs more", "the second spills", "half of the warps and a CTA", "more than half already"],
)
def test_dots_by_mma_sync_get_another_cta_up_to_half_of_the_warps(
    threads: int, free: int, spilling: tuple[int, ...], tried: Tried, taken: bytes, behaves: Callable[..., Tried]
) -> None:
    found = behaves(takes(free, spills=dict.fromkeys(spilling, 112)))
    assert assembled(kernel("dots=4 mma_sync=4 shared_bytes=12288", threads)) == taken and found == tried
    found.clear()
    assembled(kernel("dots=4 shared_bytes=12288", threads))
    assert found == tried[:-1] or len(tried) == 1, "by multiplications and additions"
