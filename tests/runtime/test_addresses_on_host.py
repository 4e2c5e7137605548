"""Kernels on host arrays that take addresses out of arrays, as grouped products do: they reach every array that is alive."""

# pyright: standard

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError
from minitriton.runtime.on_cpu.host_arrays import arrays_pointed_at, handles_addresses


@triton.jit
def add_one_to_each(sources, targets, lengths, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    source = tl.load(sources + group).to(tl.pointer_type(tl.float32))
    target = tl.load(targets + group).to(tl.pointer_type(tl.float32))
    offsets = tl.arange(0, BLOCK)
    mask = offsets < tl.load(lengths + group)
    tl.store(target + offsets, tl.load(source + offsets, mask=mask) + 1, mask=mask)


@triton.jit
def first_addresses(base, table, stride):
    group = tl.program_id(0)
    tl.store(table + group, (base + group * stride).to(tl.int64))


@triton.jit
def copy_from(address, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(address.to(tl.pointer_type(tl.float32)) + offsets))


@triton.jit
def copy_behind(tables, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    table = tl.load(tables).to(tl.pointer_type(tl.int64))
    tl.store(out + offsets, tl.load(tl.load(table + 1).to(tl.pointer_type(tl.float32)) + offsets))


@pytest.fixture(params=["emulator", "interpreter"], autouse=True)
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1" if request.param == "interpreter" else "0")


def _addresses(arrays: list[np.ndarray]) -> np.ndarray:
    return np.array([array.ctypes.data for array in arrays])


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


def test_a_table_of_addresses_reaches_its_arrays() -> None:
    sources = [_random(length) for length in (10, 60, 33)]
    targets = [np.zeros_like(source) for source in sources]
    table = _addresses(sources)
    given = table.copy()
    add_one_to_each[(3,)](table, _addresses(targets), np.array([10, 60, 33], np.int32), BLOCK=64)
    for source, target in zip(sources, targets, strict=True):
        np.testing.assert_array_equal(target, source + 1)
    np.testing.assert_array_equal(table, given)


def test_addresses_that_a_kernel_stores_are_those_of_the_host() -> None:
    rows, table, targets = _random(3, 64), np.zeros(3, np.int64), np.zeros((3, 64), np.float32)
    first_addresses[(3,)](rows, table, 64)
    np.testing.assert_array_equal(table, _addresses(list(rows)))
    add_one_to_each[(3,)](table, _addresses(list(targets)), np.array([10, 60, 64], np.int32), BLOCK=64)
    np.testing.assert_array_equal(targets[1], np.where(np.arange(64) < 60, rows[1] + 1, 0))


def test_a_number_may_be_an_address() -> None:
    rows, out = _random(3, 64), np.zeros(64, np.float32)
    copy_from[(1,)](rows[1].ctypes.data, out, BLOCK=64)
    np.testing.assert_array_equal(out, rows[1])


def test_tables_of_tables_are_followed() -> None:
    row, out = _random(64), np.zeros(64, np.float32)
    table = np.array([0, row.ctypes.data])
    copy_behind[(1,)](_addresses([table]), out, BLOCK=64)
    np.testing.assert_array_equal(out, row)


def test_an_address_of_nothing_is_a_fault() -> None:
    with pytest.raises(MinitritonError, match=r"0x3e8000"):
        copy_from[(1,)](4096 * 1000, np.zeros(64, np.float32), BLOCK=64)


def test_behind_the_end_of_such_an_array_is_a_fault() -> None:
    with pytest.raises(MinitritonError, match=r"reached by its address"):
        row, out = _random(60), np.zeros(64, np.float32)
        copy_from[(1,)](row.ctypes.data, out, BLOCK=64)


class AskedForItsClass:
    @property
    def __class__(self) -> type:
        raise AssertionError("this object does not say")


def test_other_objects_are_not_asked_for_their_class() -> None:
    row, out, held = _random(64), np.zeros(64, np.float32), [AskedForItsClass()]
    copy_from[(1,)](row.ctypes.data, out, BLOCK=64)
    np.testing.assert_array_equal(out, row)
    assert len(held) == 1


def test_arrays_are_looked_for_only_where_addresses_are_handled() -> None:
    assert handles_addresses("%0 = tt.int_to_ptr %1 : i64 -> !tt.ptr<f32>")
    assert handles_addresses("%0 = tt.load %1 : !tt.ptr<!tt.ptr<f32>>")
    assert not handles_addresses("%0 = tt.load %1 : !tt.ptr<i64>")
    array = np.zeros(4)
    assert arrays_pointed_at([np.array([array.ctypes.data + 8]), array]) == []
