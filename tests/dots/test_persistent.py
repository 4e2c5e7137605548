"""Loops over tiles made one loop with that of a tile: the epilogue waits for the products that it stores."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def tiles(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten=True):
        row, column = tile // columns * BM, tile % columns * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(da.load([row, k * BK]).to(tl.float16), db.load([k * BK, column]), acc)
        dc.store([row, column], acc)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("stages", [2, 4])
def test_the_epilogue_of_a_flattened_loop_waits_for_products_of_registers(
    dtype: type, stages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    triton.set_allocator(lambda size, alignment, stream: np.zeros(size, np.int8))
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (128, 96)).astype(dtype), rng.integers(-3, 4, (96, 64)).astype(np.float16)
    c = np.zeros((128, 64), np.float32)
    compiled = tiles[(1,)](a, b, c, 128, 64, 96, 64, 32, 32, num_stages=stages)
    assert re.search(r"wgmma.mma_async[^;]*?\}, \{%r\d+, %r\d+, %r\d+, %r\d+\}, b", compiled.asm["ptx"]), (
        "A by registers"
    )
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b)
