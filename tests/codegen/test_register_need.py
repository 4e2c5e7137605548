"""How many registers loads fill, and with how few a kernel gets by, from its PTX."""

from __future__ import annotations

import pytest

from minitriton.codegen import cubin, nvjitlink
from minitriton.codegen.cubin_resources import KernelResources
from minitriton.codegen.register_limits import candidate_register_limits
from minitriton.codegen.register_need import RegisterNeed, register_need, registers_loaded
from minitriton.target import CUDAOptions, GPUTarget

H100 = GPUTarget("cuda", 90, 32)


def kernel(*lines: str) -> str:
    """The PTX of a kernel of 128 threads."""
    body = "".join(f"{line}\n" if line.startswith("$") else f"\t{line}\n" for line in lines)
    return f".visible .entry kernel(\n\t.param .u64 p\n)\n.reqntid 128\n{{\n\t.reg .b32 \t%r<9>;\n{body}\tret;\n}}\n"


def loads(count: int) -> list[str]:
    return [f"ld.global.b32 \t%r{n}, [%rd1+{4 * n}];" for n in range(1, count + 1)]


def sums(count: int) -> list[str]:
    """Adds up what was loaded, one after another."""
    return ["mov.b32 \t%r1000, 0f00000000;"] + [
        f"add.rn.f32 \t%r{1000 + n}, %r{999 + n}, %r{n};" for n in range(1, count + 1)
    ]


START = ["ld.param.b64 \t%rd1, [p];"]


def test_a_sum_needs_an_address_the_sum_and_one_load() -> None:
    ptx = kernel(*START, *loads(100), *sums(100), "st.global.b32 \t[%rd1], %r1100;")
    assert registers_loaded(ptx) == 100
    assert register_need(ptx) == RegisterNeed(filled=100, needed=5, held=3)


def test_places_and_labels_of_debuggers_do_not_keep_loads_apart() -> None:
    places = ["$L__tmp1:", ".loc\t1 8 35"]
    ptx = kernel(*START, *loads(50), *places, *loads(100)[50:], *sums(100), "st.global.b32 \t[%rd1], %r1100;")
    assert register_need(ptx) == RegisterNeed(filled=100, needed=5, held=3)


def test_what_is_stored_after_the_last_load_is_alive_at_once() -> None:
    ptx = kernel(*START, *loads(40), "bar.sync \t0;", *(f"st.global.b32 \t[%rd1], %r{n};" for n in range(1, 41)))
    assert register_need(ptx) == RegisterNeed(filled=40, needed=42, held=40)


def test_loads_do_not_move_over_stores() -> None:
    ptx = kernel(
        *START,
        *loads(10),
        "st.global.b32 \t[%rd1], %r1;",
        *loads(30)[10:],
        *sums(30),
        "st.global.b32 \t[%rd1], %r1030;",
    )
    need = register_need(ptx)
    assert need is not None and need.filled == 20 and need.needed > 10


def test_lanes_and_loads_under_a_predicate_count() -> None:
    ptx = kernel(
        *START, "@%p1 ld.global.b32 \t{ %r1 }, [ %rd1 + 0 ];", "ld.global.v4.b32 \t{%r2, %r3, %r4, %r5}, [%rd1];"
    )
    assert registers_loaded(ptx) == 5
    need = register_need(ptx)
    assert need is not None and need.filled == 5


def test_of_loops_nothing_is_said() -> None:
    assert register_need(kernel(*START, "$L__BB0_1:", *loads(3), "@%p1 bra \t$L__BB0_1;")) is None
    assert register_need(kernel(*START, "@%p1 bra \t$L__BB0_1;", *loads(3), "$L__BB0_1:")) is not None


def test_a_register_that_is_defined_twice_ends() -> None:
    assert (
        register_need(kernel("mov.b32 \t%r1, 0;", "add.s32 \t%r1, %r1, 1;", "st.global.b32 \t[%rd1], %r1;")) is not None
    )


@pytest.mark.parametrize(
    ("limited", "tried", "taken"),
    [
        (KernelResources(64, 0), [64], cubin.Cubins(b"64", cubin.ASSEMBLED_ON_DEMAND)),
        (KernelResources(61, 0), [64], cubin.Cubins(b"64", cubin.ASSEMBLED_ON_DEMAND)),
        (KernelResources(56, 0), [64, 255], cubin.Cubins(b"64", b"255")),
        (KernelResources(64, 16), [64, 255, 128], cubin.Cubins(b"128", b"255")),
    ],
    ids=["takes all", "takes all that is allotted", "takes less", "spills"],
)
def test_a_sum_of_many_loads_is_assembled_under_its_limit_first(
    limited: KernelResources, tried: list[int], taken: cubin.Cubins, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []
    found = {b"64": limited, b"128": KernelResources(128, 0), b"255": KernelResources(160, 0)}

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        limits.append(next((n for n in (64, 128) if f".maxnreg {n}\n" in ptx), 255))
        return nvjitlink.Assembled(str(limits[-1]).encode())

    def resources(code: bytes, name: str) -> KernelResources:
        return found[code]

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", resources)
    ptx = kernel(*START, *loads(200), *sums(200), "st.global.b32 \t[%rd1], %r1200;")
    assert cubin.assembled(ptx, H100, CUDAOptions()) == taken
    assert limits == tried


def test_a_limit_under_which_what_was_loaded_does_not_fit_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefix sums of many numbers keep them all until the last is there."""
    limits: list[int] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        limits.append(next((n for n in (64, 128) if f".maxnreg {n}\n" in ptx), 255))
        return nvjitlink.Assembled(b"168")

    def resources(code: bytes, name: str) -> KernelResources:
        return KernelResources(168, 0)

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", resources)
    stores = [f"st.global.b32 \t[%rd1+{4 * n}], %r{n};" for n in range(1, 129)]
    ptx = kernel(*START, *loads(128), "bar.sync \t0;", *stores)
    assert cubin.assembled(ptx, H100, CUDAOptions()) == cubin.Cubins(b"168")
    assert limits == [255]


@pytest.mark.parametrize(
    ("sums_carried", "loaded", "tried"),
    [(32, 32, [255]), (16, 16, [255, 64, 80]), (8, 8, [255, 48, 64]), (6, 64, [255, 64])],
    ids=["loads do not fit beside the sums", "they fit", "twice of them fit", "few sums"],
)
def test_a_limit_that_would_part_the_loads_of_an_iteration_is_not_tried(
    sums_carried: int, loaded: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of rows by tiles ran at 0.55 to 0.9 of their speed."""
    limits: list[int] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        limits.append(next((n for n in (48, 64, 80) if f".maxnreg {n}\n" in ptx), 255))
        return nvjitlink.Assembled(str(limits[-1]).encode())

    def resources(code: bytes, name: str) -> KernelResources:
        return KernelResources(96 if code == b"255" else int(code), 0 if sums_carried == 6 else 8 * (code != b"255"))

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", resources)
    added = [
        f"add.f32 \t%r{1000 + n % sums_carried}, %r{1000 + n % sums_carried}, %r{n};" for n in range(1, loaded + 1)
    ]
    carried = [f"add.f32 \t%r{1000 + n}, %r{1000 + n}, %r1;" for n in range(sums_carried)]
    ptx = kernel(*START, "$L__BB0_1:", *loads(loaded), *added, *carried, "@%p1 bra \t$L__BB0_1;")
    cubin.assembled(ptx, H100, CUDAOptions())
    assert limits == tried


@pytest.mark.parametrize(("called", "limits"), [("vprintf", []), ("other", [64])])
def test_a_kernel_that_prints_is_assembled_once(called: str, limits: list[int]) -> None:
    ptx = kernel(*START, *loads(8), f"call.uni (%r9), {called}, (%rd1);")
    assert candidate_register_limits(ptx, KernelResources(80, 0), 256, 0) == limits


@pytest.mark.parametrize(("kept", "tried"), [(20, [255, 168]), (120, [255])], ids=["keeps little", "keeps much"])
def test_a_kernel_that_spills_is_tried_under_a_far_limit_if_what_it_loads_leaves_room(
    kept: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []

    def assemble(ptx: str, flags: list[str]) -> nvjitlink.Assembled:
        limits.append(next((n for n in (64, 168) if f".maxnreg {n}\n" in ptx), 255))
        return nvjitlink.Assembled(str(limits[-1]).encode())

    def resources(code: bytes, name: str) -> KernelResources:
        return {b"255": KernelResources(254, 32), b"168": KernelResources(168, 0)}.get(code, KernelResources(64, 64))

    monkeypatch.setenv("MINITRITON_ASSEMBLER", "nvjitlink")
    monkeypatch.setattr(nvjitlink, "assemble", assemble)
    monkeypatch.setattr(cubin, "kernel_resources", resources)
    stores = [f"st.global.b32 \t[%rd1+{4 * n}], %r{n};" for n in range(1, kept + 1)]
    ptx = kernel(*START, *loads(kept), *stores)
    taken = cubin.assembled(ptx, H100, CUDAOptions())
    assert [limit for limit in limits if limit != 64] == tried
    assert taken.cubin == (b"168" if 168 in tried else b"255")
