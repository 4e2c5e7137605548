"""Workloads that move or rank elements: gather, permute, rotary embedding, dropout, casts, scans, sorts, histograms; and
layer norm's backward pass and cross entropy."""

from __future__ import annotations

from typing import Any

from workload import Tensors, Workload, cdiv, power_of_two
from workloads_rows import functional


def layer_norm_backward(rows: int, cols: int, programs: int = 264) -> Workload:
    def make(torch: Any) -> Tensors:
        x, dy = (torch.randn(rows, cols, device="cuda", dtype=torch.float16) for _ in range(2))
        w = torch.randn(cols, device="cuda", dtype=torch.float16)
        return {
            "x": x, "dy": dy, "w": w, "mean": torch.randn(rows, device="cuda"), "rstd": torch.rand(rows, device="cuda"),
            "dx": torch.empty_like(x), "dw": torch.empty_like(w), "db": torch.empty_like(w),
            "_dw": torch.empty(programs, cols, device="cuda"), "_db": torch.empty(programs, cols, device="cuda"),
        }  # fmt: skip

    def launch(k: Any, t: Tensors) -> None:
        block = power_of_two(cols)
        k.layer_norm_backward[(programs,)](
            t["dy"], t["x"], t["w"], t["mean"], t["rstd"], t["dx"], t["_dw"], t["_db"], rows, cols, BLOCK=block,
            num_warps=min(max(block // 256, 1), 8),
        )  # fmt: skip
        for parts, out in (("_dw", "dw"), ("_db", "db")):
            k.sum_parts[(cdiv(cols, 32),)](t[parts], t[out], programs, cols, PARTS=64, COLS=32)

    def library(t: Tensors) -> Any:
        import torch

        return torch.ops.aten.native_layer_norm_backward(
            t["dy"], t["x"], [cols], t["mean"][:, None], t["rstd"][:, None], t["w"], t["w"], [True, True, True]
        )

    return Workload(
        f"layer norm backward f16 {rows}x{cols}", "layer_norm_backward", make, launch, library, ("dx", "dw", "db")
    )


def cumulative_sum(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda")
        return {"x": x, "out": torch.empty_like(x)}

    return Workload(
        f"cumulative sum f32 {rows}x{cols}", "cumulative_sum", make,
        lambda k, t: k.cumulative_sum[(rows,)](t["x"], t["out"], cols, BLOCK=min(power_of_two(cols), 2048)),
        lambda t: t["x"].cumsum(dim=1),
    )  # fmt: skip


def sort_rows(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda")
        return {"x": x, "out": torch.empty_like(x)}

    tile = max(1024 // cols, 1)
    return Workload(
        f"sort f32 {rows}x{cols}", "sorting", make,
        lambda k, t: k.sort_rows[(rows // tile,)](t["x"], t["out"], ROWS=tile, COLS=cols),
        lambda t: t["x"].sort(dim=1).values,
    )  # fmt: skip


def top_k(rows: int, cols: int, wanted: int) -> Workload:
    def make(torch: Any) -> Tensors:
        return {"x": torch.randn(rows, cols, device="cuda"), "out": torch.empty(rows, wanted, device="cuda")}

    tile = max(1024 // cols, 1)
    return Workload(
        f"top {wanted} f32 {rows}x{cols}", "sorting", make,
        lambda k, t: k.top_k[(rows // tile,)](t["x"], t["out"], ROWS=tile, COLS=cols, K=wanted),
        lambda t: t["x"].topk(wanted, dim=1).values,
    )  # fmt: skip


def histogram(n: int, bins: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randint(0, bins, (n,), device="cuda", dtype=torch.int32)
        return {"x": x, "out": torch.zeros(bins, device="cuda", dtype=torch.int32)}

    return Workload(
        f"histogram i32 {n >> 10}Ki {bins} bins", "histogram", make,
        lambda k, t: (
            t["out"].zero_(),
            k.histogram[(cdiv(n, 8192),)](t["x"], t["out"], n, BLOCK=8192, BINS=bins),
        ),
        lambda t: t["x"].bincount(minlength=bins),
    )  # fmt: skip


def embedding(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        table = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        index = torch.randint(0, rows, (rows,), device="cuda", dtype=torch.int32)
        return {"table": table, "index": index, "out": torch.empty_like(table)}

    return Workload(
        f"gather rows f16 {rows}x{cols}", "gather_rows", make,
        lambda k, t: k.embedding[(rows, cdiv(cols, 1024))](t["table"], t["index"], t["out"], cols, BLOCK=1024),
        lambda t: t["table"][t["index"]],
    )  # fmt: skip


def gather_columns(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda")
        index = torch.randint(0, cols, (rows, cols), device="cuda", dtype=torch.int32)
        return {"x": x, "index": index, "out": torch.empty_like(x)}

    tile = max(2048 // cols, 1)
    return Workload(
        f"gather axis 1 f32 {rows}x{cols}", "gather_rows", make,
        lambda k, t: k.gather_columns[(rows // tile,)](t["x"], t["index"], t["out"], ROWS=tile, COLS=cols),
        lambda t: t["x"].gather(1, t["index"].long()),
    )  # fmt: skip


def seeded_dropout(n: int) -> Workload:
    p = 0.25

    def make(torch: Any) -> Tensors:
        x = torch.rand(n, device="cuda", dtype=torch.float16) + 1
        return {"x": x, "out": torch.empty_like(x)}

    def check(t: Tensors) -> float:
        kept = t["out"] != 0
        scaled = (t["out"].float() - t["x"].float() / (1 - p)).abs()
        return max(scaled[kept].max().item() / 2, abs(kept.float().mean().item() - (1 - p)))

    return Workload(
        f"dropout f16 {n >> 10}Ki", "seeded_dropout", make,
        lambda k, t: k.seeded_dropout[(cdiv(n, 2048),)](t["x"], t["out"], n, p, 12345, BLOCK=2048),
        lambda t: functional().dropout(t["x"], p), check=check,
    )  # fmt: skip


def cross_entropy(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        logits = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        label = torch.randint(0, cols, (rows,), device="cuda", dtype=torch.int32)
        return {"logits": logits, "label": label, "out": torch.empty(rows, device="cuda")}

    return Workload(
        f"cross entropy f16 {rows}x{cols}", "cross_entropy", make,
        lambda k, t: k.cross_entropy[(rows,)](
            t["logits"], t["label"], t["out"], cols, BLOCK=min(power_of_two(cols), 4096), num_warps=8
        ),
        lambda t: functional().cross_entropy(t["logits"], t["label"].long(), reduction="none"),
    )  # fmt: skip


def rotary(kind: str, tokens: int, heads: int, size: int) -> Workload:
    half = size // 2

    def make(torch: Any) -> Tensors:
        x = torch.randn(tokens, heads, size, device="cuda", dtype=torch.float16)
        cos, sin = (torch.randn(tokens, half, device="cuda", dtype=torch.float16) for _ in range(2))
        return {"x": x, "cos": cos, "sin": sin, "out": torch.empty_like(x)}

    def library(t: Tensors) -> Any:
        import torch

        cos, sin = t["cos"][:, None, :], t["sin"][:, None, :]
        if kind == "halves":
            a, b = t["x"][..., :half], t["x"][..., half:]
            return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        a, b = t["x"][..., 0::2], t["x"][..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)

    return Workload(
        f"rotary {kind} f16 {tokens}x{heads}x{size}", "rotary", make,
        lambda k, t: getattr(k, f"rotate_{kind}")[(tokens, cdiv(heads, 16))](
            t["x"], t["cos"], t["sin"], t["out"], heads, HEADS=16, HALF=half
        ),
        library,
    )  # fmt: skip


def permute_cab(a: int, b: int, c: int) -> Workload:
    def make(torch: Any) -> Tensors:
        return {"x": torch.randn(a, b, c, device="cuda"), "out": torch.empty(c, a, b, device="cuda")}

    return Workload(
        f"permute abc to cab f32 {a}x{b}x{c}", "permute", make,
        lambda k, t: k.permute_cab[(cdiv(a, 2), cdiv(b, 32), cdiv(c, 32))](
            t["x"], t["out"], a, b, c, A=2, B=32, C=32
        ),
        lambda t: t["x"].permute(2, 0, 1).contiguous(),
    )  # fmt: skip


def permute_bac(a: int, b: int, c: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(a, b, c, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty(b, a, c, device="cuda", dtype=torch.float16)}

    return Workload(
        f"permute abc to bac f16 {a}x{b}x{c}", "permute", make,
        lambda k, t: k.permute_bac[(cdiv(a * b * c, 2048),)](t["x"], t["out"], a, b, N_C=c, BLOCK=2048),
        lambda t: t["x"].permute(1, 0, 2).contiguous(),
    )  # fmt: skip


def quantize_rows(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows, cols, device="cuda", dtype=torch.float16)
        return {
            "x": x, "out": torch.empty(rows, cols, device="cuda", dtype=torch.int8),
            "scale": torch.empty(rows, device="cuda"),
        }  # fmt: skip

    def library(t: Tensors) -> Any:
        x = t["x"].float()
        scale = x.abs().amax(dim=1) / 127
        return (x / scale[:, None] + 0.5).floor().to(t["out"].dtype), scale

    return Workload(
        f"cast f16 to int8 {rows}x{cols}", "casts", make,
        lambda k, t: k.quantize_rows[(rows,)](
            t["x"], t["out"], t["scale"], cols, BLOCK=power_of_two(cols), num_warps=8
        ),
        library, ("out", "scale"),
    )  # fmt: skip


def dequantize_rows(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randint(-128, 128, (rows, cols), device="cuda", dtype=torch.int8)
        out = torch.empty(rows, cols, device="cuda", dtype=torch.float16)
        return {"x": x, "scale": torch.rand(rows, device="cuda"), "out": out}

    return Workload(
        f"cast int8 to f16 {rows}x{cols}", "casts", make,
        lambda k, t: k.dequantize_rows[(rows, cdiv(cols, 2048))](t["x"], t["scale"], t["out"], cols, BLOCK=2048),
        lambda t: (t["x"].float() * t["scale"][:, None]).to(t["out"].dtype),
    )  # fmt: skip


def cast(before: str, after: str, n: int) -> Workload:
    names = {"f16": "float16", "f32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}

    def make(torch: Any) -> Tensors:
        x = torch.randn(n, device="cuda", dtype=torch.float16).to(getattr(torch, names[before]))
        return {"x": x, "out": torch.empty(n, device="cuda", dtype=getattr(torch, names[after]))}

    return Workload(
        f"cast {before} to {after} " + (f"{n >> 10}Ki" if n % 1024 == 0 else str(n)), "casts", make,
        lambda k, t: k.cast[(cdiv(n, 4096),)](t["x"], t["out"], n, BLOCK=4096),
        lambda t: t["x"].to(t["out"].dtype),
    )  # fmt: skip


def untile(rows: int, cols: int) -> Workload:
    def make(torch: Any) -> Tensors:
        x = torch.randn(rows // 16, cols // 16, 16, 16, device="cuda", dtype=torch.float16)
        return {"x": x, "out": torch.empty(rows, cols, device="cuda", dtype=torch.float16)}

    return Workload(
        f"untile f16 {rows}x{cols}", "tiled", make,
        lambda k, t: k.untile[(rows, cdiv(cols, 1024))](t["x"], t["out"], cols, COLS=1024),
        lambda t: t["x"].permute(0, 2, 1, 3).reshape(rows, cols),
    )  # fmt: skip
