"""Workloads whose indices are quotients and remainders by sizes that only the launch knows."""

from __future__ import annotations

from typing import Any

from workload import Tensors, Workload, cdiv


def take_flat(n: int, rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda")
        index = torch.randint(0, rows * cols, (n,), device="cuda", dtype=torch.int32)
        return {"x": x, "index": index, "out": torch.empty(n, device="cuda")}

    return Workload(
        f"take flat f32 {n} of {rows}x{cols}", "index_division", make,
        lambda k, t: k.take_flat[(cdiv(n, 1024),)](t["x"], t["index"], t["out"], n, cols, cols, BLOCK=1024),
        lambda t: t["x"].flatten()[t["index"].long()],
    )  # fmt: skip


def copy_by_groups(m: int, n: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(m, n, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty_like(x)}

    grid = (cdiv(m, 32) * cdiv(n, 128),)
    return Workload(
        f"copy by groups f16 {m}x{n}", "index_division", make,
        lambda k, t: k.copy_by_groups[grid](t["x"], t["out"], m, n, BM=32, BN=128, GROUP=8),
        lambda t: t["x"].clone(),
    )  # fmt: skip


def repeat_rows(rows: int, cols: int, times: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randint(0, 100, (rows, cols), device="cuda", dtype=torch.int8)
        return {"x": x, "out": torch.empty(2 * rows * times, cols, device="cuda", dtype=torch.int8)}

    n = 2 * rows * times
    return Workload(
        f"repeat rows i8 {rows}x{cols} {times} times", "index_division", make,
        lambda k, t: k.repeat_rows[(1, cdiv(n, 128))](t["x"], t["out"], rows, times, n, COLS=cols, BLOCK=128),
        lambda t: t["x"].repeat_interleave(times, 0).repeat(2, 1),
    )  # fmt: skip
