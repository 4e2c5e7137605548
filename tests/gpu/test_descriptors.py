"""Descriptors on a GPU: tensor maps from the host and made in the kernel, of several CTAs, and what the driver refuses."""

from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.tools.ragged_tma import create_ragged_descriptor, load_ragged, store_ragged
from minitriton.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def scratch_memory() -> None:
    """Kernels that make tensor maps take their memory from torch."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


@triton.jit
def transpose(src, dst, rows: tl.constexpr, cols: tl.constexpr):
    i, j = tl.program_id(0) * rows, tl.program_id(1) * cols
    dst.store([j, i], src.load([i, j]).trans())


@triton.jit
def transpose_pointers(x, y, m, n, rows: tl.constexpr, cols: tl.constexpr):
    src = tl.make_tensor_descriptor(x, [m, n], [n, 1], [rows, cols])
    dst = tl.make_tensor_descriptor(y, [n, m], [m, 1], [cols, rows])
    i, j = tl.program_id(0) * rows, tl.program_id(1) * cols
    dst.store([j, i], src.load([i, j]).trans())


def matrix(m: int, n: int, dtype: Any) -> Any:
    return torch.randint(-100, 100, (m, n), device="cuda").to(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8", "uint8"])
@pytest.mark.parametrize(("rows", "cols"), [(32, 64), (64, 256), (16, 16)])
def test_host_descriptors(dtype: str, rows: int, cols: int) -> None:
    x = matrix(208, 320, getattr(torch, dtype))
    y = torch.zeros((320, 208), dtype=x.dtype, device="cuda")
    source, target = TensorDescriptor.from_tensor(x, [rows, cols]), TensorDescriptor.from_tensor(y, [cols, rows])
    for _ in range(2):
        transpose[(triton.cdiv(208, rows), triton.cdiv(320, cols))](source, target, rows, cols)
    torch.testing.assert_close(y, x.T, rtol=0, atol=0)


@pytest.mark.parametrize("num_ctas", [1, 2])
def test_descriptors_made_in_the_kernel(num_ctas: int) -> None:
    if num_ctas > 1 and torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("this device has no clusters")
    x, y = matrix(208, 320, torch.float32), torch.zeros((320, 208), device="cuda")
    transpose_pointers[(7, 5)](x, y, 208, 320, 32, 64, num_ctas=num_ctas)
    torch.testing.assert_close(y, x.T, rtol=0, atol=0)


@triton.jit
def copy_batch(x, y, x_first, y_first, x_size, y_size):
    store_ragged(y, y_first, y_size, [0, 0], load_ragged(x, x_first, x_size, [0, 0]))


def test_a_batch_of_a_ragged_array() -> None:
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("this device has no tensor copies")
    x, y = matrix(64, 16, torch.float16), torch.full((64, 16), 7, dtype=torch.float16, device="cuda")
    source, target = create_ragged_descriptor(x, [16, 16]), create_ragged_descriptor(y, [16, 16])
    copy_batch[(1,)](source, target, 9, 20, 5, 8)
    expected = torch.full_like(y, 7)
    expected[20:25], expected[25:28] = x[9:14], 0
    torch.testing.assert_close(y, expected, rtol=0, atol=0)


@triton.jit
def weighted_rows(x, out, n, R: tl.constexpr, C: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n, C], [C, 1], [R, C])
    total = tl.zeros((R, C), tl.float32)
    for k in tl.range(0, n, R, num_stages=4):
        total = total * 2 + desc.load([k, 0]).to(tl.float32)
    tl.store(out + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], total)


@pytest.mark.parametrize(
    ("dtype", "rows", "columns"), [("int8", 1, 16), ("int8", 2, 32), ("float16", 4, 8), ("float32", 2, 4)]
)
def test_blocks_under_128_bytes_in_a_pipelined_loop(dtype: str, rows: int, columns: int) -> None:
    x = torch.randint(-2, 3, (8 * rows, columns), device="cuda").to(getattr(torch, dtype))
    out = torch.zeros((rows, columns), device="cuda")
    weighted_rows[(1,)](x, out, 8 * rows, rows, columns)
    expected = torch.zeros_like(out)
    for k in range(0, 8 * rows, rows):
        expected = expected * 2 + x[k : k + rows]
    torch.testing.assert_close(out, expected, rtol=0, atol=0)


def test_every_driver_encoding_is_the_one_that_the_emulator_knows() -> None:
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("this device has no tensor copies")
    import ctypes

    from minitriton.runtime.driver import get_driver
    from minitriton.target.tensor_map import SIZE, TensorMap

    x = matrix(64, 256, torch.float16)
    for swizzle, box in ((0, (256, 64)), (1, (16, 8)), (2, (32, 64)), (3, (64, 32))):
        map = TensorMap(x.data_ptr(), "f16", (256, 64), (512,), box, swizzle=swizzle, l2_promotion=2)
        address = get_driver().encode_tensor_map("x", map)
        assert ctypes.string_at(address, SIZE) == map.encode()
