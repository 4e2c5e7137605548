"""The extension's `nvidia`: `cublas.CublasLt`, the matmuls that Triton's tutorials and tests compare with.

cuBLAS itself is called by torch, which brings it along.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Protocol

from minitriton.errors import MinitritonError

__all__ = ["cublas"]

_EXACT = ("torch.float16", "torch.bfloat16", "torch.float32")
_FP8 = ("torch.float8_e4m3fn",)


class Matrix(Protocol):
    """A tensor of torch on the GPU."""

    dtype: object
    device: object

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def T(self) -> Matrix: ...


class CublasLt:
    """Matmuls on the GPU; `workspace` is what cuBLAS may use in addition to them (torch keeps its own)."""

    def __init__(self, workspace: object) -> None:
        self.workspace = workspace

    def matmul(self, a: Matrix, b: Matrix, c: Matrix) -> None:
        """Stores a (M x K) times b (N x K) transposed in c (M x N). fp16, bf16, fp32 and e4m3, all three of one dtype.

        Raises `MinitritonError` for other types and for shapes that do not fit.
        """
        self.gemm(a, b, c, c, 1.0, 0.0)

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, d: Matrix, alpha: float, beta: float) -> None:
        """Stores alpha · a bᵀ + beta · c in d; shapes and types as in `matmul`. e4m3 takes neither alpha nor beta."""
        torch = importlib.import_module("torch")
        kinds = {str(each.dtype) for each in (a, b, c, d)}
        if len(kinds) != 1 or not kinds <= {*_EXACT, *_FP8}:
            raise MinitritonError(f"CublasLt multiplies {', '.join((*_EXACT, *_FP8))}, all of one type, not {kinds}")
        shapes = [tuple(each.shape) for each in (a, b, c, d)]
        if [len(shape) for shape in shapes] != [2] * 4 or shapes[0][1] != shapes[1][1]:
            raise MinitritonError(f"CublasLt multiplies M x K by N x K, not {shapes[0]} by {shapes[1]}")
        if shapes[2] != shapes[3] or shapes[3] != (shapes[0][0], shapes[1][0]):
            raise MinitritonError(f"{shapes[0]} by {shapes[1]} transposed gives no {shapes[3]}")
        if kinds <= {*_EXACT}:
            torch.addmm(c, a, b.T, beta=beta, alpha=alpha, out=d)
            return
        if (alpha, beta) != (1.0, 0.0):
            raise MinitritonError("a matmul of e4m3 is not scaled: alpha is 1 and beta 0")
        one = torch.ones((), device=a.device)
        torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=d.dtype, use_fast_accum=True, out=d)


class _Cublas:
    """The submodule `nvidia.cublas`."""

    CublasLt = CublasLt


cublas = _Cublas()
