"""Workloads of the spine: vector add, softmax, norms, sums and maxima, transpose."""

from __future__ import annotations

from typing import Any

from workload import Tensors, Workload, cdiv, power_of_two


def vector_add(n: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x, y = (torch.randn(n, device="cuda") for _ in range(2))
        return {"x": x, "y": y, "out": torch.empty_like(x)}

    return Workload(
        f"vector add f32 {n >> 20}Mi" if n % (1 << 20) == 0 else f"vector add f32 {n}", "vector_add", make,
        lambda k, t: k.vector_add[(cdiv(n, 1024),)](t["x"], t["y"], t["out"], n, BLOCK=1024),
        lambda t: t["x"] + t["y"],
    )  # fmt: skip


def softmax(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty_like(x)}

    block = power_of_two(cols)
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    return Workload(
        f"softmax f16 {rows}x{cols}", "softmax", make,
        lambda k, t: k.softmax[(rows,)](t["out"], t["x"], cols, cols, rows, cols, BLOCK=block, num_warps=warps),
        lambda t: t["x"].softmax(dim=1),
    )  # fmt: skip


def layer_norm(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        w, b = (torch.randn(cols, device="cuda", dtype=torch.float16) for _ in range(2))
        mean, rstd = (torch.empty(rows, device="cuda") for _ in range(2))
        return {"x": x, "out": torch.empty_like(x), "w": w, "b": b, "mean": mean, "rstd": rstd}

    block = min(65536 // 2, power_of_two(cols))
    warps = min(max(block // 256, 1), 8)
    return Workload(
        f"layer norm f16 {rows}x{cols}", "layer_norm", make,
        lambda k, t: k.layer_norm[(rows,)](
            t["x"], t["out"], t["w"], t["b"], t["mean"], t["rstd"], cols, cols, 1e-5, BLOCK=block, num_warps=warps
        ),
        lambda t: functional().layer_norm(t["x"], (cols,), t["w"], t["b"]),
    )  # fmt: skip


def rms_norm(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "w": torch.randn(cols, device="cuda", dtype=torch.float16), "out": torch.empty_like(x)}

    return Workload(
        f"rms norm f16 {rows}x{cols}", "rms_norm", make,
        lambda k, t: k.rms_norm[(rows,)](
            t["x"], t["w"], t["out"], cols, cols, 1e-6, BLOCK=power_of_two(cols), num_warps=8
        ),
        lambda t: functional().rms_norm(t["x"], (cols,), t["w"], 1e-6),
    )  # fmt: skip


def reduction(kind: str, axis: int, rows: int, cols: int, tile: tuple[int, int], warps: int = 4) -> Workload:
    name = f"{kind}_{'rows' if axis == 1 else 'columns'}"
    length, step = (rows, tile[0]) if axis == 1 else (cols, tile[1])

    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty(length, device="cuda")}

    return Workload(
        f"{kind} axis {axis} f16 {rows}x{cols}", "reductions", make,
        lambda k, t: getattr(k, name)[(cdiv(length, step),)](
            t["x"], t["out"], rows, cols, ROWS=tile[0], COLS=tile[1], num_warps=warps
        ),
        lambda t: t["x"].sum(dim=axis, dtype=t["out"].dtype) if kind == "sum" else t["x"].amax(dim=axis),
    )  # fmt: skip


def column_sums(rows: int, cols: int) -> Workload:
    band, tile = 1024, (32, 256)

    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.zeros(cols, device="cuda")}

    return Workload(
        f"column sums f16 {rows}x{cols}", "column_sums", make,
        lambda k, t: (
            t["out"].zero_(),
            k.column_sums[(cdiv(cols, tile[1]), cdiv(rows, band))](
                t["x"], t["out"], rows, cols, BAND=band, ROWS=tile[0], COLS=tile[1], num_warps=4
            ),
        ),
        lambda t: t["x"].sum(dim=0, dtype=t["out"].dtype),
    )  # fmt: skip


def transpose(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda")
        return {"x": x, "out": torch.empty(cols, rows, device="cuda")}

    return Workload(
        f"transpose f32 {rows}x{cols}", "transpose", make,
        lambda k, t: k.transpose[(cdiv(rows, 64), cdiv(cols, 64))](t["x"], t["out"], rows, cols, ROWS=64, COLS=64),
        lambda t: t["x"].t().contiguous(),
    )  # fmt: skip


def functional() -> Any:
    """`torch.nn.functional`, imported when torch's way is timed."""
    import torch

    return torch.nn.functional
