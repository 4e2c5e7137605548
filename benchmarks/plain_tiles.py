"""Matmul and attention written plainly, by pointers (`minitriton_kernels/plain_tiles.py`), on a GPU: Triton, minitriton, and minitriton with `describe_tiles`.

    python benchmarks/plain_tiles.py [SUBSTRING ...] [--rounds N] [--seconds S] [--out FILE]

For each case and tile TFLOP/s of the three and of torch (cuBLAS; the fastest of its attentions), and speeds as ratios to Triton's: medians of
rounds in balanced orders, with a 95 % interval for `describe_tiles`. Results are compared with torch's, and with each other bit by bit.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from contest import Row, interval, largest_difference, resources, time_in_turns
from requirements_here import need_gpu

from minitriton_kernels.cases import load_kernels

CONTENDERS = {
    "described": ("minitriton", {"describe_tiles": True}),
    "minitriton": ("minitriton", {"describe_tiles": False}),
    "triton": ("triton", {}),
}
TOLERANCE = 2e-2


@dataclass(frozen=True)
class Case:
    """`launch(kernels, tile, **options)` writes `out`; `work` is in floating-point operations."""

    name: str
    tiles: tuple[tuple[int, ...], ...]
    """BM, BN, (BK,) warps, stages."""
    work: float
    make: Callable[[], tuple[Any, Callable[..., Any], Callable[[], Any]]]


def matmul_of(m: int, n: int, k: int, transposed: bool = False) -> Case:
    def make() -> tuple[Any, Callable[..., Any], Callable[[], Any]]:
        import torch

        a = torch.randn((m, k), device="cuda", dtype=torch.float16)
        b = torch.randn((n, k) if transposed else (k, n), device="cuda", dtype=torch.float16)
        b = b.T if transposed else b
        c = torch.empty((m, n), device="cuda", dtype=torch.float16)

        def launch(kernels: Any, tile: tuple[int, ...], **options: Any) -> Any:
            bm, bn, bk, warps, stages = tile
            grid = (-(-m // bm) * -(-n // bn),)
            return kernels.matmul[grid](
                a,
                b,
                c,
                m,
                n,
                k,
                *a.stride(),
                *b.stride(),
                *c.stride(),
                bm,
                bn,
                bk,
                8,
                num_warps=warps,
                num_stages=stages,
                **options,
            )

        return c, launch, lambda: a @ b

    tiles = (
        (128, 256, 64, 8, 3),
        (128, 256, 64, 8, 4),
        (128, 128, 64, 4, 4),
        (128, 128, 64, 8, 3),
        (64, 128, 64, 4, 4),
    )
    return Case(f"matmul {m}x{n}x{k}{' b transposed' if transposed else ''}", tiles, 2.0 * m * n * k, make)


def attention_of(length: int, d: int, causal: bool) -> Case:
    heads = 2048 // d
    batch = max(1, 32768 // length)

    def make() -> tuple[Any, Callable[..., Any], Callable[[], Any]]:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q, k, v = (torch.randn((batch, heads, length, d), device="cuda", dtype=torch.float16) for _ in range(3))
        out = torch.empty_like(q)
        scale = d**-0.5

        def launch(kernels: Any, tile: tuple[int, ...], **options: Any) -> Any:
            bm, bn, warps, stages = tile
            strides = [s for x in (q, k, v, out) for s in x.stride()[:3]]
            return kernels.attention[(-(-length // bm), batch * heads)](
                q,
                k,
                v,
                out,
                scale,
                heads,
                length,
                *strides,
                bm,
                bn,
                d,
                causal,
                num_warps=warps,
                num_stages=stages,
                **options,
            )

        def library() -> Any:
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)

        return out, launch, library

    tiles = (
        ((128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3))
        if d == 128
        else ((128, 64, 4, 3), (128, 128, 8, 2), (64, 64, 4, 3))
    )
    work = 4.0 * batch * heads * length * length * d * (0.5 if causal else 1)
    return Case(f"attention d{d} {length}{' causal' if causal else ''}", tiles, work, make)


def cases() -> Iterator[Case]:
    """In the order of the table."""
    for size in (8192, 4096, 2048, 1024):
        yield matmul_of(size, size, size)
    yield matmul_of(8192, 8192, 512)
    yield matmul_of(8192, 1024, 8192, True)
    yield matmul_of(4096, 4096, 4096, True)
    for d in (128, 64):
        for causal in (False, True):
            for length in (8192, 16384, 4096, 1024):
                yield attention_of(length, d, causal)


def measure(case: Case, rounds: int) -> Iterator[Row]:
    """A row a tile."""
    import torch

    out, launch, library = case.make()
    expected = library()
    for tile in case.tiles:
        row: Row = {"name": case.name, "tile": tile}
        runs: dict[str, Callable[[], Any]] = {}
        results: dict[str, Any] = {}
        for name, (compiler, options) in CONTENDERS.items():
            try:
                run = partial(launch, load_kernels("plain_tiles", compiler), tile, **options)
                out.fill_(-7)
                kernel = run()
                torch.cuda.synchronize()
                apart = largest_difference(out, expected)
                assert apart < TOLERANCE, f"wrong by {apart:.3g} of the largest number"
                results[name], row[f"{name} resources"] = out.clone(), resources(kernel)
                runs[name] = run
            except Exception as error:
                row[f"{name} error"] = f"{type(error).__name__}: {error}"[:160]
                traceback.print_exc(limit=-2)
        if "described" in results and "minitriton" in results:
            row["equal"] = bool(
                (results["described"].view(torch.int16) == results["minitriton"].view(torch.int16)).all()
            )
        if runs:
            times = time_in_turns({**runs, "torch": library}, rounds=rounds)
            row["milliseconds"] = times
            row |= {name: case.work / statistics.median(each) / 1e9 for name, each in times.items()}
            for name in ("described", "minitriton"):
                if name in times and "triton" in times:
                    row[f"{name} ratio"] = statistics.median(
                        t / m for m, t in zip(times[name], times["triton"], strict=True)
                    )
            if "described" in times and "triton" in times:
                row["interval"] = interval({"minitriton": times["described"], "triton": times["triton"]}, "triton")
        yield row


def _line(row: Row) -> str:
    def number(key: str, width: int, digits: int) -> str:
        return f"{row[key]:{width}.{digits}f}" if key in row else f"{'-':>{width}}"

    low, high = row.get("interval", (math.nan, math.nan))
    return (
        f"{row['name']:32} {'x'.join(map(str, row['tile'])):16} {number('described', 7, 1)} {number('minitriton', 7, 1)} {number('triton', 7, 1)} "
        f"{number('torch', 7, 1)}  {number('described ratio', 6, 3)} {low:6.3f}-{high:.3f} {number('minitriton ratio', 6, 3)}  {row.get('equal', '-')}  "
        f"{row.get('described resources', '-')} {row.get('minitriton resources', '-')} {row.get('triton resources', '-')}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=8, help="of a case, at least (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begins no case after these")
    parser.add_argument("--out", help="also write the figures to this file, as JSON, after each case")
    given = parser.parse_args()
    need_gpu()
    print(
        f"{'case':32} {'tile':16} {'descr.':>7} {'ours':>7} {'Triton':>7} {'torch':>7}  TFLOP/s; described and ours to Triton; same bits; resources"
    )
    rows: list[Row] = []
    since = time.monotonic()
    for case in cases():
        if (
            given.names and not any(name in case.name for name in given.names)
        ) or time.monotonic() - since > given.seconds:
            continue
        for row in measure(case, given.rounds):
            rows.append(row)
            print(_line(row), flush=True)
        if given.out:
            Path(given.out).write_text(json.dumps(rows, indent=1) + "\n")
    for key in ("described ratio", "minitriton ratio"):
        found = [row[key] for row in rows if key in row]
        if found:
            print(
                f"{key}: geometric mean {math.exp(statistics.fmean(map(math.log, found))):.3f}, least {min(found):.3f}"
            )
    return int(any(key.endswith("error") and not key.startswith("triton") for row in rows for key in row))


if __name__ == "__main__":
    sys.exit(main())
