"""`triton._C.libtriton.nvidia.cublas.CublasLt`, which Triton's tutorials and tests compare with."""

from __future__ import annotations

import pytest

from minitriton._C.libtriton import nvidia
from minitriton.errors import MinitritonError

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_products_of_rows_with_rows(dtype):
    a, b = (torch.arange(96).reshape(6, 16) % 7).to(getattr(torch, dtype)), torch.eye(16).to(getattr(torch, dtype))
    c = torch.empty((6, 16), dtype=a.dtype)
    nvidia.cublas.CublasLt(None).matmul(a, b, c)
    assert torch.equal(c, a)


def test_shapes_and_types_that_do_not_fit_are_named():
    a, b = torch.zeros(4, 8), torch.zeros(4, 9)
    with pytest.raises(MinitritonError, match=r"not \(4, 8\) by \(4, 9\)"):
        nvidia.cublas.CublasLt(None).matmul(a, b, torch.zeros(4, 4))
    with pytest.raises(MinitritonError, match="all of one type"):
        nvidia.cublas.CublasLt(None).matmul(a, a.half(), torch.zeros(4, 4))
