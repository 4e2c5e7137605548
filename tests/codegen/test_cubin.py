"""What assemblers are told: fusion, options of the kernel and of the environment."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from minitriton.codegen import cubin, nvjitlink
from minitriton.codegen.cubin_resources import KernelResources
from minitriton.errors import MinitritonError
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


def test_ptxas_gets_the_kernel_s_options_and_the_environment_s(ptxas: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXAS_OPTIONS", "--warn-on-spills")
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "1")
    options = CUDAOptions(enable_fp_fusion=False, maxnreg=64, ptx_options="--def-load-cache=cg")
    assert cubin.ptx_to_cubin("", H100, options) == b"cubin\n"
    given = ptxas.read_text().split()
    assert given[0] == "--gpu-name=sm_90a"
    wanted = ["-maxrregcount=64", "--fmad=false", "--opt-level=0", "--warn-on-spills", "--def-load-cache=cg"]
    assert [flag for flag in given if flag in wanted] == wanted


def test_what_ptxas_says_is_shown_where_asked_for(
    ptxas: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cubin.ptx_to_cubin("", H100, CUDAOptions())
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("TRITON_DUMP_PTXAS_LOG", "1")
    cubin.ptx_to_cubin("", H100, CUDAOptions())
    assert capsys.readouterr().out == "ptxas info: Used 10 registers\n"
    assert ptxas.read_text().split()[0] == "-v"


def test_nvjitlink_gets_options_of_ptxas_in_its_own_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        given.extend(flags)
        return nvjitlink.Assembled(b"cubin")

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    cubin.ptx_to_cubin("\t.loc", H100, CUDAOptions(enable_fp_fusion=False, ptx_options="--warn-on-spills"))
    assert given == ["-arch=sm_90a", "-lineinfo", "-Xptxas=--fmad=false", "-Xptxas=--warn-on-spills"]


class Resources:
    """Stands for nvJitLink: cubins are `registers:local bytes`, and nothing is logged (as where its cache answers)."""

    def __init__(self, limited: str) -> None:
        self.limited = limited

    def assemble(self, ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        return nvjitlink.Assembled((self.limited if ".maxnreg 32" in ptx else "40:16").encode())

    @staticmethod
    def of(cubin_: bytes, name: str) -> KernelResources:
        assert name == "kernel"
        registers, local = cubin_.decode().split(":")
        return KernelResources(int(registers), int(local))


@pytest.mark.parametrize(("limited", "taken"), [("32:16", b"32:16"), ("32:24", b"40:16")], ids=["fits", "spills"])
def test_a_limit_is_kept_where_nothing_spills_whatever_the_log_says(
    limited: str, taken: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", Resources(limited).assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    ptx = ".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{\n}\n"
    assert cubin.ptx_to_cubin(ptx, H100, CUDAOptions()) == taken
    few = b"40:16" if taken == b"32:16" else None
    assert cubin.assembled(ptx, H100, CUDAOptions()) == cubin.Cubins(taken, few)


def test_long_ptx_is_assembled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", Resources("32:0").assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    ptx = (
        ".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{\n" + "\tbar.sync 0;\n" * cubin.MOST_LINES + "}\n"
    )
    assert cubin.assembled(ptx, H100, CUDAOptions()) == cubin.Cubins(b"40:16")


@dataclass(frozen=True)
class WithSharedMemory(CUDAOptions):
    """Options of a kernel with 30,000 bytes of shared memory."""

    shared: int = 30000


@pytest.mark.parametrize(("threads", "limit"), [(128, None), (64, 200)], ids=["to 168 of 255", "to 200 of 255"])
def test_a_kernel_that_spills_all_its_registers_is_assembled_again_for_a_near_limit_only(
    threads: int, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        given.append(ptx)
        return nvjitlink.Assembled(b"200:16" if ".maxnreg" in ptx else b"255:200")

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    ptx = f".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid {threads}\n{{\n}}\n"
    made = cubin.assembled(ptx, H100, WithSharedMemory())
    assert made.cubin == (b"255:200" if limit is None else b"200:16")
    assert [f".maxnreg {limit}\n" in each for each in given[1:]] == ([] if limit is None else [True])


def test_a_kernel_that_the_limit_is_too_low_for_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        if ".maxnreg 32" in ptx:
            raise MinitritonError("ptxas fatal : (C7602) Insufficient registers (32) to compile instruction at line 1")
        return nvjitlink.Assembled(b"40:16")

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    ptx = ".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{\n}\n"
    assert cubin.ptx_to_cubin(ptx, H100, CUDAOptions()) == b"40:16"


def assembled_under(limits: tuple[int, ...], free: int, spilling: set[int], patch: pytest.MonkeyPatch) -> list[int]:
    """What a kernel is assembled under from now on, as it happens: it takes all of one of `limits`, or `free`, and spills under `spilling`."""
    tried: list[int] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        tried.append(next((n for n in limits if f".maxnreg {n}" in ptx), free))
        return nvjitlink.Assembled(f"{tried[-1]}:{8 if tried[-1] in spilling else 0}".encode())

    patch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    patch.setattr(nvjitlink, "assemble", assemble)
    patch.setattr(cubin, "kernel_resources", Resources.of)
    return tried


NOTHING = ".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{\n}\n"


@pytest.mark.parametrize(
    ("limits", "spilling", "tried", "taken"),
    [
        ((64, 168), set[int](), [254, 168, 64], b"64:0"),
        ((64, 168), {64}, [254, 168, 64], b"168:0"),
        ((64, 168), {64, 168}, [254, 168], b"254:0"),
        ((64, 128), set[int](), [149, 64], b"64:0"),
        ((64, 128), {64}, [149, 64, 128], b"128:0"),
        ((64, 96), set[int](), [98, 64], b"64:0"),
        ((64, 96), {64}, [98, 64, 96], b"96:0"),
        ((64, 96), {64, 96}, [98, 64, 96], b"98:0"),
    ],
)
def test_limits_are_tried_best_first_but_far_ones_last_where_all_registers_were_given(
    limits: tuple[int, ...], spilling: set[int], tried: list[int], taken: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assembled = assembled_under(limits, tried[0], spilling, monkeypatch)
    assert cubin.ptx_to_cubin(NOTHING, H100, CUDAOptions()) == taken
    assert assembled == tried


@pytest.mark.parametrize(
    ("free", "taken"), [("", b"40:16"), ("wgmma.mma_async instructions are serialized", b"32:16")], ids=["free", "both"]
)
def test_a_limit_under_which_products_run_one_by_one_is_not_kept(
    free: str, taken: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        if ".maxnreg 32" in ptx:
            return nvjitlink.Assembled(
                b"32:16", "(C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ..."
            )
        return nvjitlink.Assembled(b"40:16", free)

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    ptx = ".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{\n}\n"
    assert cubin.ptx_to_cubin(ptx, H100, CUDAOptions()) == taken


def _products(sums: int, registers: int) -> str:
    """PTX of a kernel of 128 threads with `sums` products, each with sums of its own in `registers`."""
    lists = ["{" + ", ".join(f"%s{n}_{r}" for r in range(registers)) + "}" for n in range(sums)]
    products = "".join(f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {each}, a, b, 1, 1, 1;\n" for each in lists)
    return f".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{{\n{products}}}\n"


@pytest.mark.parametrize(
    ("sums", "free", "shared", "tried"),
    [
        (2, "187:0", 49152, [255, 168]),
        (2, "187:16", 49152, [255]),
        (4, "187:0", 49152, [255]),
        (2, "187:0", 98304, [255]),
        (2, "168:0", 49152, [255, 128]),
    ],
    ids=["a block more", "spills already", "sums do not fit", "shared memory is full", "the next block"],
)
def test_products_are_assembled_for_a_block_more(
    sums: int, free: str, shared: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        limit = re.search(r"\.maxnreg (\d+)", ptx)
        limits.append(int(limit[1]) if limit else 255)
        return nvjitlink.Assembled(f"{limit[1]}:0".encode() if limit else free.encode())

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    made = cubin.assembled(_products(sums, 60), H100, WithSharedMemory(shared=shared))
    assert limits == tried
    assert made == (cubin.Cubins(free.encode()) if len(tried) == 1 else cubin.Cubins(b"%d:0" % tried[1], free.encode()))


SUMS = "{" + ", ".join(f"%r{n}" for n in range(64)) + "}"


@pytest.mark.parametrize(
    ("operand", "limited", "log", "tried", "taken"),
    [
        ("{%a0, %a1, %a2, %a3}", "124:0", "", [128], cubin.Cubins(b"124:0", cubin.ASSEMBLED_ON_DEMAND)),
        ("a", "128:0", "", [255, 128], cubin.Cubins(b"128:0", b"158:0")),
        ("{%a0, %a1, %a2, %a3}", "128:8", "", [128, 255], cubin.Cubins(b"158:0")),
        ("{%a0, %a1, %a2, %a3}", "128:0", "wgmma.mma_async instructions are serialized", [128, 255], cubin.Cubins(b"158:0")),
        ("{%a0, %a1, %a2, %a3}", "96:0", "", [128, 255], cubin.Cubins(b"96:0", b"158:0")),
    ],
    ids=["fits", "operands not in registers", "spills", "one by one", "takes less"],
)  # fmt: skip
def test_a_limit_that_is_expected_is_tried_first(
    operand: str, limited: str, log: str, tried: list[int], taken: cubin.Cubins, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        limits.append(128 if ".maxnreg 128" in ptx else 255)
        return nvjitlink.Assembled(*((limited.encode(), log) if limits[-1] == 128 else (b"158:0", "")))

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", Resources.of)
    product = f"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {SUMS}, {operand}, b, 1, 1, 1;\n"
    ptx = f".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 256\n{{\n{product}}}\n"
    assert cubin.assembled(ptx, H100, WithSharedMemory(shared=98304)) == taken
    assert limits == tried
    assert cubin.assembled_without_limit(ptx, H100, CUDAOptions()) == b"158:0"
