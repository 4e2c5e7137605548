# pyright: standard
"""Accesses and atomics, as programs look for them in PTX: the width of vectors, cache modifiers, eviction policies, what an atomic
orders.

Triton's own tests look at the text of stages, and run only where its sources and a GPU are. Here are small kernels of the same kinds with
the same demands. Numbers like "v4" say how good the code is; spellings like `atom.global.gpu.acq_rel` are what a program can search for.
"""

from __future__ import annotations

import pytest
from asked_texts import ARCHITECTURES, MEANINGS, array, text_of

import minitriton as triton
import minitriton.language as tl

FLOATS, INTS = array(tl.float32), array(tl.int32)


@triton.jit
def gathered(x, total, OP: tl.constexpr, SEM: tl.constexpr):
    value = tl.load(x + tl.program_id(0))
    if OP == "add":
        tl.atomic_add(total, value, sem=SEM)
    elif OP == "max":
        tl.atomic_max(total, value, sem=SEM)
    else:
        tl.atomic_min(total, value, sem=SEM)


@triton.jit
def numbered(tickets, out, SEM: tl.constexpr):
    tl.store(out + tl.program_id(0), tl.atomic_add(tickets, 1, sem=SEM))


@triton.jit
def one_at_a_time(data, lock, SEM: tl.constexpr):
    free = tl.full((1,), 0, lock.dtype.element_ty).item()
    taken = tl.full((1,), 1, lock.dtype.element_ty).item()
    while tl.atomic_cas(lock, free, taken, SEM) == 1:
        pass
    at = data + tl.arange(0, 128)
    tl.store(at, tl.load(at) * 2)
    tl.debug_barrier()
    tl.atomic_xchg(lock, free)


def orders(sem: str | None) -> str:
    return sem or "acq_rel"


WHOLE = [tl.int32, tl.uint32, tl.int64, tl.uint64]
FLOATING = [tl.float32, tl.float64]


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize(
    ("op", "dtype"),
    [*[(op, t) for op in ("add", "max", "min") for t in WHOLE + FLOATING], ("add", tl.float16)],
    ids=str,
)
def test_an_atomic_on_one_number_is_one_instruction_of_its_kind(op: str, dtype: tl.dtype, arch: str) -> None:
    assert "atom.global.gpu.acq_rel" in text_of(gathered, array(dtype), array(dtype), op, None, arch=arch)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("sem", MEANINGS)
def test_an_atomic_on_one_number_names_what_it_orders(sem: str | None, arch: str) -> None:
    asked = f"atom.global.gpu.{orders(sem)}"
    assert asked in text_of(numbered, INTS, INTS, sem, arch=arch)
    assert asked in text_of(gathered, FLOATS, FLOATS, "add", sem, arch=arch)
    assert asked in text_of(gathered, FLOATS, FLOATS, "max", sem, arch=arch)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("sem", MEANINGS)
def test_bfloat16_is_added_by_exchanges_before_sm90(sem: str | None, arch: str) -> None:
    ptx = text_of(gathered, array(tl.bfloat16), array(tl.bfloat16), "add", sem, arch=arch)
    if arch == "sm90":
        assert f"atom.global.gpu.{orders(sem)}" in ptx
    else:
        assert f"atom.{orders(sem)}.gpu.global.cas" in ptx


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("sem", "dtype"), [*((sem, tl.int32) for sem in MEANINGS), (None, tl.int64)])
def test_a_lock_names_what_it_orders(sem: str | None, dtype: tl.dtype, arch: str) -> None:
    assert f"atom.global.{orders(sem)}" in text_of(one_at_a_time, FLOATS, array(dtype), sem, arch=arch)


@triton.jit
def moved(src, src_m, src_n, dst, dst_m, dst_n, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(dst + m * dst_m + n * dst_n, tl.load(src + m * src_m + n * src_n))


@pytest.mark.parametrize(
    ("arch", "dtype", "side"),
    [
        *((arch, tl.float16, 64) for arch in ARCHITECTURES),
        ("sm80", tl.float8e4b15, 64),
        ("sm90", tl.float32, 64),
        ("sm80", tl.float32, 128),
    ],
)
def test_transposing_reads_and_writes_vectors_of_four(arch: str, dtype: tl.dtype, side: int) -> None:
    data, contiguous, across = array(dtype), (side, 1), (1, side)
    for source, target in ((contiguous, across), (across, across)):
        ptx = text_of(moved, data, *source, data, *target, side, side, arch=arch)
        assert "ld.global.v4" in ptx and "st.global.v4" in ptx


@triton.jit
def copied(dst, src, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.load(src + at, mask=at < n), mask=at < n)


@triton.jit
def copied_from(dst, src, start, n, BLOCK: tl.constexpr, HINT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) + tl.load(start)
    if HINT:
        tl.max_contiguous(tl.multiple_of(at, BLOCK), BLOCK)
    tl.store(dst + at, tl.load(src + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("n", "asked"),
    [(16, "ld.global.v4.b32"), (1024, "ld.global.v4.b32"), (10, "ld.global.b32"), (11, "ld.global.b32")],
)
def test_the_mask_decides_the_width_of_an_access(n: int, asked: str, arch: str) -> None:
    assert asked in text_of(copied, FLOATS, FLOATS, n, 1024, arch=arch)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("hint", [False, True])
def test_a_start_of_unknown_alignment_is_read_in_vectors_where_a_hint_says_so(hint: bool, arch: str) -> None:
    assert ("ld.global.v4.b32" in text_of(copied_from, FLOATS, FLOATS, INTS, 1024, 1024, hint, arch=arch)) == hint


@triton.jit
def passed_on(dst, src, LOADED: tl.constexpr, STORED: tl.constexpr, POLICY: tl.constexpr):
    at = tl.arange(0, 128)
    tl.store(dst + at, tl.load(src + at, cache_modifier=LOADED), cache_modifier=STORED, eviction_policy=POLICY)


def found(words: tuple[str, ...], ptx: str) -> set[str]:
    return {word for word in words if word in ptx}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("cache", ["", ".ca", ".cg", ".cv"])
def test_a_load_has_the_cache_modifier_it_was_given(cache: str, arch: str) -> None:
    ptx = text_of(passed_on, FLOATS, FLOATS, cache, "", "", arch=arch)
    loads = ("ld.global.ca", "ld.global.cg")
    assert found(loads, ptx) == ({f"ld.global{cache}"} & set(loads))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("cache", ["", ".wb", ".cg", ".cs", ".wt"])
def test_a_store_has_the_cache_modifier_it_was_given(cache: str, arch: str) -> None:
    ptx = text_of(passed_on, FLOATS, FLOATS, "", cache, "", arch=arch)
    stores = ("st.global.wb", "st.global.cg", "st.global.cs", "st.global.wt")
    assert found(stores, ptx) == ({f"st.global{cache}"} & set(stores))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("policy", ["", "evict_last", "evict_first"])
def test_a_store_has_the_eviction_policy_it_was_given(policy: str, arch: str) -> None:
    ptx = text_of(passed_on, FLOATS, FLOATS, "", "", policy, arch=arch)
    assert found(("evict_last", "evict_first"), ptx) == ({policy} - {""})
