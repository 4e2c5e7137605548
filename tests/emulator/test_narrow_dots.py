"""`mma.sync` on 4-bit integers and on single bits, against NumPy: every shape, sign, saturation, what bits are counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minitriton import emulator

Run = Callable[..., emulator.Report]
SHAPES = {"b1": [(8, 128), (16, 128), (16, 256)], "4": [(8, 32), (16, 32), (16, 64)]}


def bits_of(values: np.ndarray, width: int) -> np.ndarray:
    """Integers [rows, k] as words [rows, k * width / 32], the first one lowest."""
    per = 32 // width
    fields = (values.astype(np.int64) & ((1 << width) - 1)).reshape(*values.shape[:-1], -1, per).astype(np.uint64)
    return (fields << (np.arange(per, dtype=np.uint64) * np.uint64(width))).sum(-1).astype(np.uint32)


def multiply(
    emulate: Run, shape: str, suffix: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, width: int
) -> np.ndarray:
    """Lays A [rows, k], B [k, 8] and C [rows, 8] out over the registers of a warp (PTX ISA, "Matrix Fragments for mma"), runs one mma."""
    rows = len(a)
    words_a, words_b = bits_of(a, width), bits_of(np.ascontiguousarray(b.T), width)
    group, place = np.arange(32) // 4, np.arange(32) % 4
    halves = rows // 8
    registers = [
        words_a[group + 8 * h, 4 * part + place] for part in range(words_a.shape[1] // 4) for h in range(halves)
    ]
    registers += [words_b[group, 4 * part + place] for part in range(words_b.shape[1] // 4)]
    registers += [c[group + 8 * h, 2 * place + n].view(np.uint32) for h in range(halves) for n in range(2)]
    table, out = np.stack(registers), np.zeros((2 * halves, 32), np.uint32)
    loads = "".join(f"ld.global.b32 %r{n + 1}, [%rd91+{128 * n}];" for n in range(len(registers)))
    of_a, of_b = halves * words_a.shape[1] // 4, words_b.shape[1] // 4
    names = [f"%r{n + 1}" for n in range(len(registers))]
    lists = [", ".join(names[s]) for s in (slice(of_a), slice(of_a, of_a + of_b), slice(of_a + of_b, None))]
    results = ", ".join(f"%r{50 + n}" for n in range(2 * halves))
    stores = "".join(f"st.global.b32 [%rd92+{128 * n}], %r{50 + n};" for n in range(2 * halves))
    body = f"{loads} mma.sync.aligned.{shape}.row.col.{suffix} {{{results}}}, {{{lists[0]}}}, {{{lists[1]}}}, {{{lists[2]}}}; {stores}"
    report = emulate(body, table, out)
    assert report.ok, report.findings
    found = np.zeros((rows, 8), np.int32)
    for h in range(halves):
        for n in range(2):
            found[group + 8 * h, 2 * place + n] = out[2 * h + n].view(np.int32)
    return found


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("types", [("s4", "s4"), ("u4", "s4"), ("s4", "u4"), ("u4", "u4")])
@pytest.mark.parametrize(("rows", "depth"), SHAPES["4"])
def test_four_bit_products_are_those_of_integers(
    rows: int, depth: int, types: tuple[str, str], saturate: bool, emulate: Run
) -> None:
    rng = np.random.default_rng(depth)
    a, b = (
        rng.integers(-8, 8, size) if type == "s4" else rng.integers(0, 16, size)
        for type, size in zip(types, ((rows, depth), (depth, 8)), strict=True)
    )
    c = rng.integers(-(2**31), 2**31, (rows, 8)).astype(np.int32)
    c[0], c[1] = 2**31 - 1, -(2**31)
    suffix = f"{'satfinite.' if saturate else ''}s32.{types[0]}.{types[1]}.s32"
    found = multiply(emulate, f"m{rows}n8k{depth}", suffix, a, b, c, 4)
    exact = a @ b + c.astype(np.int64)
    wanted = np.clip(exact, -(2**31), 2**31 - 1) if saturate else exact
    np.testing.assert_array_equal(found, wanted.astype(np.int32))


@pytest.mark.parametrize("operation", ["xor", "and"])
@pytest.mark.parametrize(("rows", "depth"), SHAPES["b1"])
def test_single_bits_are_counted(rows: int, depth: int, operation: str, emulate: Run) -> None:
    rng = np.random.default_rng(depth)
    a, b = rng.integers(0, 2, (rows, depth)), rng.integers(0, 2, (depth, 8))
    c = rng.integers(-1000, 1000, (rows, 8)).astype(np.int32)
    c[0, 0] = 2**31 - 1
    found = multiply(emulate, f"m{rows}n8k{depth}", f"s32.b1.b1.s32.{operation}.popc", a, b, c, 1)
    combine = np.bitwise_xor if operation == "xor" else np.bitwise_and
    wanted = combine(a[:, :, None], b[None]).sum(1) + c.astype(np.int64)
    np.testing.assert_array_equal(found, wanted.astype(np.int32))
