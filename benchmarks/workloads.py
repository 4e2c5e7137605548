"""What the speed benchmark runs: each workload at sizes far beyond the L2 cache, under minitriton, Triton and torch.

A `Workload` makes torch tensors, launches one of the example kernels, and knows torch's own way to the same result and
how many bytes must move (each input read once, each output written once).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


@dataclass(frozen=True)
class Workload:
    """`launch(kernel, tensors)` starts one run; `library(tensors)` is torch's; `read` and `written` name tensors by key."""

    name: str
    file: str
    kernel: str
    make: Callable[[Any], dict[str, Any]]
    launch: Callable[[Any, dict[str, Any]], Any]
    library: Callable[[dict[str, Any]], Any]
    result: str

    def bytes_moved(self, tensors: dict[str, Any]) -> int:
        return sum(t.numel() * t.element_size() for t in tensors.values())


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def vector_add(n: int) -> Workload:
    def make(torch: Any) -> dict[str, Any]:
        x, y = (torch.randn(n, device="cuda") for _ in range(2))
        return {"x": x, "y": y, "out": torch.empty_like(x)}

    return Workload(
        f"vector add f32 {n >> 20}Mi", "vector_add", "vector_add", make,
        lambda k, t: k[(_cdiv(n, 1024),)](t["x"], t["y"], t["out"], n, BLOCK=1024),
        lambda t: t["x"] + t["y"], "out",
    )  # fmt: skip


def softmax(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> dict[str, Any]:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty_like(x)}

    block = _power_of_two(cols)
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    return Workload(
        f"softmax f16 {rows}x{cols}", "softmax", "softmax", make,
        lambda k, t: k[(rows,)](t["out"], t["x"], cols, cols, rows, cols, BLOCK=block, num_warps=warps),
        lambda t: t["x"].softmax(dim=1), "out",
    )  # fmt: skip


def layer_norm(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> dict[str, Any]:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        w, b = (torch.randn(cols, device="cuda", dtype=torch.float16) for _ in range(2))
        mean, rstd = (torch.empty(rows, device="cuda") for _ in range(2))
        return {"x": x, "out": torch.empty_like(x), "w": w, "b": b, "mean": mean, "rstd": rstd}

    block = min(65536 // 2, _power_of_two(cols))
    warps = min(max(block // 256, 1), 8)
    return Workload(
        f"layer norm f16 {rows}x{cols}", "layer_norm", "layer_norm", make,
        lambda k, t: k[(rows,)](
            t["x"], t["out"], t["w"], t["b"], t["mean"], t["rstd"], cols, cols, 1e-5, BLOCK=block, num_warps=warps
        ),
        lambda t: _torch().nn.functional.layer_norm(t["x"], (cols,), t["w"], t["b"]), "out",
    )  # fmt: skip


def rms_norm(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> dict[str, Any]:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "w": torch.randn(cols, device="cuda", dtype=torch.float16), "out": torch.empty_like(x)}

    return Workload(
        f"rms norm f16 {rows}x{cols}", "rms_norm", "rms_norm", make,
        lambda k, t: k[(rows,)](t["x"], t["w"], t["out"], cols, cols, 1e-6, BLOCK=_power_of_two(cols), num_warps=8),
        lambda t: _torch().nn.functional.rms_norm(t["x"], (cols,), t["w"], 1e-6), "out",
    )  # fmt: skip


def reduction(kind: str, axis: int, rows: int, cols: int, tile: tuple[int, int], warps: int = 4) -> Workload:
    kernel = f"{kind}_{'rows' if axis == 1 else 'columns'}"
    length, step = (rows, tile[0]) if axis == 1 else (cols, tile[1])

    def make(torch: Any) -> dict[str, Any]:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty(length, device="cuda")}

    return Workload(
        f"{kind} axis {axis} f16 {rows}x{cols}", "reductions", kernel, make,
        lambda k, t: k[(_cdiv(length, step),)](
            t["x"], t["out"], rows, cols, ROWS=tile[0], COLS=tile[1], num_warps=warps
        ),
        lambda t: t["x"].sum(dim=axis, dtype=_torch().float32) if kind == "sum" else t["x"].amax(dim=axis), "out",
    )  # fmt: skip


def column_sums(rows: int, cols: int) -> Workload:
    band, tile = 1024, (32, 256)

    def make(torch: Any) -> dict[str, Any]:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.zeros(cols, device="cuda")}

    return Workload(
        f"column sums f16 {rows}x{cols}", "column_sums", "column_sums", make,
        lambda k, t: (
            t["out"].zero_(),
            k[(_cdiv(cols, tile[1]), _cdiv(rows, band))](
                t["x"], t["out"], rows, cols, BAND=band, ROWS=tile[0], COLS=tile[1], num_warps=4
            ),
        ),
        lambda t: t["x"].sum(dim=0, dtype=_torch().float32), "out",
    )  # fmt: skip


def transpose(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> dict[str, Any]:
        x = torch.randn(rows, cols, device="cuda")
        return {"x": x, "out": torch.empty(cols, rows, device="cuda")}

    return Workload(
        f"transpose f32 {rows}x{cols}", "transpose", "transpose", make,
        lambda k, t: k[(_cdiv(rows, 64), _cdiv(cols, 64))](t["x"], t["out"], rows, cols, ROWS=64, COLS=64),
        lambda t: t["x"].t().contiguous(), "out",
    )  # fmt: skip


def _torch() -> Any:
    import torch

    return torch


def workloads() -> list[Workload]:
    """Everything that is judged, largest first where it matters."""
    found = [
        vector_add(1 << 27),
        softmax(16384, 4096),
        softmax(65536, 1024),
        layer_norm(16384, 8192),
        layer_norm(65536, 1024),
        rms_norm(16384, 8192),
        column_sums(16384, 16384),
        transpose(16384, 16384),
    ]
    shapes = {"tall": (262144, 1024), "square": (16384, 16384), "wide": (1024, 262144)}
    for kind in ("sum", "max"):
        for rows, cols in shapes.values():
            found.append(
                reduction(kind, 1, rows, cols, (1, 4096) if cols > 4096 else (4, 1024), warps=8 if cols > 4096 else 4)
            )
            found.append(reduction(kind, 0, rows, cols, (128, 64) if cols <= 16384 else (64, 128)))
    return found
