"""Triton's Gluon tutorials on a GPU: the same file by minitriton and by Triton, in turns.

    TRITON_SRC=~/triton-3.6.0 python benchmarks/gluon_tutorials.py [--rounds N] [--out FILE]

The sizes and tiles are those that the tutorials print figures for. Each result is compared with torch's. For each case: the ratio of speeds
(the median of rounds), its 95 % interval, and the ratio of Triton's kernel to itself as a control. About 90 seconds on an H100.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from contest import Row, interval, largest_difference, ratio, time_in_turns
from requirements_here import need_gpu

from minitriton.lab.corpus.case import load_file

TOLERANCE = 2e-2


class Case(NamedTuple):
    """`launch(module, out)` fills `out`, which is to equal `expected`."""

    file: str
    name: str
    launch: Callable[[ModuleType, Any], Any]
    expected: Any


def cases() -> Iterator[Case]:
    import torch

    x = torch.randn(1 << 28, device="cuda")
    yield Case("01-intro", "memcpy", lambda m, out: m.memcpy(x, out, 2048), x)

    def by_layout(m: ModuleType, out: Any) -> Any:
        layout = m.gl.BlockedLayout([4], [32], [4], [0])
        return m.memcpy_1d_impl(x, out, 8192, layout, 4)

    yield Case("02-layouts", "memcpy 1-D", by_layout, x)
    matrix = x.view(16384, 16384)
    yield Case("02-layouts", "memcpy 2-D, transposed input", lambda m, out: m.memcpy_2d_inout(matrix.T, out), matrix.T)
    a, b = (torch.randn((16384, 16384), device="cuda") for _ in range(2))
    yield Case("03-async-copy", "memcpy cp.async", lambda m, out: m.memcpy_1d_cpasync(a.view(-1), out.view(-1)), a)
    yield Case("03-async-copy", "add", lambda m, out: m.elementwise_add(a, b, out), a + b)
    yield Case(
        "03-async-copy", "add, pipelined", lambda m, out: m.elementwise_add_pipelined(a, b, out, num_buffers=3), a + b
    )
    yield Case("04-tma", "memcpy TMA", lambda m, out: m.memcpy_1d_tma(a.view(-1), out.view(-1)), a)
    yield Case("04-tma", "add TMA", lambda m, out: m.elementwise_add_tma(a, b, out, num_buffers=2), a + b)
    yield Case(
        "08-warp-specialization", "add, warps specialized",
        lambda m, out: m.elementwise_add_warp_specialized(a, b, out), a + b,
    )  # fmt: skip
    p, q = (torch.randn((8192, 8192), device="cuda", dtype=torch.float16) for _ in range(2))
    multiplied = p @ q
    yield Case("05-wgmma", "matmul", lambda m, out: m.blocked_matmul(p, q, out, 128, 256, 64, False, 8), multiplied)
    for columns, warps in ((256, 8), (128, 4)):
        launch = partial(_pipelined, p=p, q=q, columns=columns, warps=warps)
        yield Case("05-wgmma", f"matmul, pipelined 128x{columns}", launch, multiplied)
    yield Case("07-persistence", "matmul", lambda m, out: m.matmul_pipelined(p, q, out, 128, 256, 64, 3, 8), multiplied)
    for scheduler in ("PersistentTileScheduler", "grouped"):
        for function in ("persistent_matmul", "persistent_matmul_pipelined"):
            launch = partial(_persistent, p=p, q=q, function=function, scheduler=scheduler)
            yield Case("07-persistence", f"{function}, {scheduler}", launch, multiplied)


def _pipelined(m: ModuleType, out: Any, *, p: Any, q: Any, columns: int, warps: int) -> Any:
    return m.blocked_matmul_pipelined(p, q, out, 128, columns, 64, warps)


def _persistent(m: ModuleType, out: Any, *, p: Any, q: Any, function: str, scheduler: str) -> Any:
    made = _grouped(m) if scheduler == "grouped" else getattr(m, scheduler)
    return getattr(m, function)(p, q, out, 128, 256, 64, 3, 8, made)


@cache
def _tutorial(folder: Path, name: str, compiler: str) -> ModuleType:
    """Tutorials import those before them by name: each compiler has its own."""
    for imported in [each for each in sys.modules if each[:1].isdigit()]:
        del sys.modules[imported]
    sys.path.insert(0, str(folder))
    try:
        return load_file(folder / f"{name}.py", compiler)
    finally:
        sys.path.remove(str(folder))


@cache
def _grouped(m: ModuleType) -> Any:
    return m.GroupedPersistentTileScheduler(8)


def measure(case: Case, folder: Path, rounds: int) -> Row:
    import torch

    row: Row = {"file": case.file, "name": case.name}
    runs: dict[str, Callable[[], Any]] = {}
    for compiler in ("minitriton", "triton"):
        try:
            module = _tutorial(folder, case.file, compiler)
            out = torch.full(case.expected.shape, -7, device="cuda", dtype=case.expected.dtype)
            case.launch(module, out)
            torch.cuda.synchronize()
            apart = largest_difference(out, case.expected)
            assert apart < TOLERANCE, f"wrong by {apart:.3g} of the largest number"
            runs[compiler] = partial(case.launch, module, out)
        except Exception as error:
            traceback.print_exc(limit=-2)
            row[f"{compiler} error"] = f"{type(error).__name__}: {error}"[:200]
    if len(runs) == 2:
        runs["control"] = partial(runs["triton"])
        row["milliseconds"] = times = time_in_turns(runs, rounds=rounds)
        row |= {name: statistics.median(each) for name, each in times.items()}
        row["ratio"], row["interval"] = ratio(times, "triton"), interval(times, "triton")
        row["control ratio"] = ratio({"minitriton": times["control"], "triton": times["triton"]}, "triton")
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", help="also write the figures to this file, as JSON")
    parser.add_argument("--rounds", type=int, default=12, help="of a case, at least (default: %(default)s)")
    arguments = parser.parse_args()
    need_gpu()
    if "TRITON_SRC" not in os.environ:
        print("TRITON_SRC must be Triton 3.6.0's source", file=sys.stderr)
        return 2
    folder = Path(os.environ["TRITON_SRC"]) / "python/tutorials/gluon"
    rows: list[Row] = []
    for case in cases():
        row = measure(case, folder, arguments.rounds)
        rows.append(row)
        if "ratio" in row:
            low, high = row["interval"]
            print(
                f"{case.file:24} {case.name:56} {row['minitriton']:8.3f} ms {row['triton']:8.3f} ms {row['ratio']:7.3f}"
                f" {low:6.3f}-{high:.3f}   control {row['control ratio']:.3f}",
                flush=True,
            )
        if arguments.out:
            Path(arguments.out).write_text(json.dumps(rows, indent=1) + "\n")
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, least {min(ratios):.3f}")
    return int(any("minitriton error" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
