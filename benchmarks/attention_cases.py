"""The attention that `attention.py` measures: tensors, launches of `minitriton_kernels/attention.py`, torch's own way.

Tiles, warps and stages are those among which Triton's tutorial 06 tunes (forward), and the ones it fixes (backward). As in the papers
on FlashAttention there are as many sequences as make 32k rows, and heads of 2,048 features together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from matmul_cases import Tensors, descriptor_of

ROWS, FEATURES = 32768, 2048
LENGTHS = (1024, 2048, 4096, 8192, 16384)


@dataclass(frozen=True)
class Tile:
    """Rows and keys at a time, warps and stages of a forward kernel."""

    rows: int
    keys: int
    warps: int
    stages: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.keys} {self.warps}w {self.stages}s"


TILES = {
    64: (Tile(128, 64, 4, 3), Tile(128, 64, 4, 2), Tile(64, 64, 4, 3)),
    128: (Tile(128, 128, 8, 2), Tile(128, 128, 8, 3), Tile(128, 64, 4, 3)),
}
"""For each width of a head the tiles that are tried."""


@dataclass(frozen=True)
class Attention:
    """One case. `scale` is that of torch: 1 / sqrt(width)."""

    kind: str
    width: int
    length: int
    causal: bool
    backward: bool
    rows: int = ROWS
    """Of all sequences."""
    features: int = FEATURES
    """Of all heads."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        way = "backward" if self.backward else "forward"
        return f"{way} {self.kind} d{self.width} {self.length}{' causal' if self.causal else ''}"

    @property
    def operations(self) -> int:
        """Of the products that any way needs: two forward, five backward."""
        products = 2 * self.heads * self.length**2 * self.width
        return products * (5 if self.backward else 2) // (2 if self.causal else 1)

    @property
    def heads(self) -> int:
        """Heads of all sequences."""
        return self.rows // self.length * (self.features // self.width)

    @property
    def scale(self) -> float:
        """The factor of the scores."""
        return self.width**-0.5

    def make(self) -> Tensors:
        """Random q, k, v and do; room for the results."""
        import torch

        dtype = getattr(torch, self.kind)
        shape = (self.rows // self.length, self.features // self.width, self.length, self.width)
        t = {name: torch.randn(shape, device="cuda").to(dtype) for name in ("q", "k", "v", "do")}
        t |= {name: torch.empty(shape, device="cuda", dtype=dtype) for name in ("o", "dq", "dk", "dv")}
        t |= {name: torch.empty(shape[:3], device="cuda", dtype=torch.float32) for name in ("log_sums", "delta")}
        t["scaled_k"] = (t["k"].float() * (self.scale * 1.4426950408889634)).to(dtype)
        return t

    def forward(self, kernels: Any, t: Tensors, tile: Tile, **options: Any) -> Any:
        """o and log_sums; the compiled kernel."""
        descriptor = descriptor_of(kernels)
        blocks = {"q": tile.rows, "k": tile.keys, "v": tile.keys, "o": tile.rows}
        boxes = [descriptor(t[name].view(-1, self.width), [rows, self.width]) for name, rows in blocks.items()]
        grid = (self.length // tile.rows, self.heads)
        return kernels.attention[grid](
            *boxes, t["log_sums"], self.length, self.scale,
            BM=tile.rows, BN=tile.keys, D=self.width, CAUSAL=self.causal,
            num_warps=tile.warps, num_stages=tile.stages, **options,
        )  # fmt: skip

    def gradients(self, kernels: Any, t: Tensors, **options: Any) -> Any:
        """dq, dk and dv from o and log_sums; the compiled kernel."""
        kernels.row_products[self.length // 128, self.heads](
            t["o"], t["do"], t["delta"], self.length, BM=128, D=self.width
        )
        operands = (t[name] for name in ("q", "scaled_k", "v", "do", "dq", "dk", "dv", "log_sums", "delta"))
        return kernels.attention_backward[self.length // 128, 1, self.heads](
            *operands, self.length, self.scale, OUTER=128, INNER=32, D=self.width, CAUSAL=self.causal,
            num_warps=4, num_stages=5, **options,
        )  # fmt: skip

    def library(self, t: Tensors) -> tuple[Any, Any]:
        """Two functions without arguments: torch's result, and its gradients of q, k and v."""
        import torch

        inputs = [t[name].detach().clone().requires_grad_(self.backward) for name in ("q", "k", "v")]
        attend = torch.nn.functional.scaled_dot_product_attention

        def run() -> Any:
            return attend(*inputs, is_causal=self.causal)

        if not self.backward:
            return run, None
        result = run()
        return run, lambda: torch.autograd.grad(result, inputs, t["do"], retain_graph=True)


def cases() -> list[Attention]:
    """Every case, in the order of the table."""
    return [
        Attention(kind, width, length, causal, backward)
        for backward in (False, True)
        for kind in ("float16", "bfloat16")
        for width in (128, 64)
        for causal in (True, False)
        for length in LENGTHS
        if kind == "float16" or length in (4096, 16384)
    ]


def small_cases(length: int) -> list[Attention]:
    """One sequence and one head of each kind of case."""
    kinds = {(each.kind, each.width, each.causal, each.backward): each for each in cases()}
    return [replace(each, length=length, rows=length, features=each.width) for each in kinds.values()]
