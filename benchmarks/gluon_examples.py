"""The examples of `minitriton_kernels/gluon` on a GPU: each kernel compiled by minitriton and by Triton, next to torch.

    python benchmarks/gluon_examples.py [SUBSTRING ...] [--rounds N] [--control] [--out FILE]

Random data. Results are compared with torch's before anything is timed. For each case: TFLOP/s (copies and weights of 4 bits: GB/s) of
the three, minitriton's speed as a ratio to Triton's and to torch's (medians of rounds in balanced orders, for Triton's a 95 % interval), and registers, spilled registers
and bytes of shared memory of both kernels. torch is cuBLAS for matmuls, the fastest backend of `scaled_dot_product_attention` for attention,
`_scaled_mm` (rowwise scales, an easier matmul) for fp8, and a matmul of float16 for weights of 4 bits. A contender that fails is left out, its error
printed. `--control` also times Triton's kernel a second time, as another contender: its ratio to itself says what the procedure is good for.
About 90 seconds on an H100; exit code 1 if a case failed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import statistics
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from contest import Row, interval, largest_difference, median_milliseconds, ratio, resources, time_in_turns
from requirements_here import need_gpu

from minitriton.lab.corpus.case import load_file

EXAMPLES = Path(__file__).parents[1] / "minitriton_kernels/gluon"
TOLERANCE = 2e-2
PATIENCE = 40
"""Seconds for a case: a kernel whose warps wait for each other never ends."""
ROUNDS = 12
COMPILERS = ("minitriton", "triton")
RUNNING = "# running the kernel of"


@dataclass(frozen=True)
class Prepared:
    """`launch(module)` writes `out`; `expected()` is torch's result, `library()` what torch's time is that of."""

    out: Any
    launch: Callable[[ModuleType], Any]
    expected: Callable[[], Any]
    library: Callable[[], Any] | None


@dataclass(frozen=True)
class Case:
    """`work` is in floating-point operations, or in bytes where `unit` is GB/s."""

    name: str
    file: str
    work: float
    unit: str
    prepare: Callable[[], Prepared]


def half(*shape: int) -> Any:
    import torch

    return torch.randn(shape, device="cuda", dtype=torch.float16)


def programs() -> int:
    import torch

    return torch.cuda.get_device_properties(0).multi_processor_count


def copy_of(file: str, size: int) -> Case:
    """Of a matrix of float32, or by `tma_copy` of float16."""

    def prepare() -> Prepared:
        import torch

        x = half(size, size) if file == "tma_copy" else torch.randn((size, size), device="cuda")
        out, other = torch.empty_like(x), torch.empty_like(x)
        return Prepared(out, lambda module: module.copy(x, out), lambda: x, lambda: other.copy_(x))

    return Case(f"{file} {size}x{size}", file, size * size * (4 if file == "tma_copy" else 8), "GB/s", prepare)


def transpose_of(size: int) -> Case:
    def prepare() -> Prepared:
        import torch

        x = torch.randn((size, size), device="cuda")
        out, other = torch.empty_like(x), torch.empty_like(x)
        return Prepared(out, lambda module: module.transpose(x, out), lambda: x.T, lambda: other.copy_(x.T))

    return Case(f"transpose {size}x{size}", "transpose", size * size * 8, "GB/s", prepare)


def matmul_of(file: str, size: int, **options: int) -> Case:
    """A square matmul of float16."""

    def prepare() -> Prepared:
        import torch

        a, b = half(size, size), half(size, size)
        out, other = torch.empty_like(a), torch.empty_like(a)
        given = options | ({"programs": programs()} if file == "persistent_matmul" else {})

        def library() -> Any:
            return torch.matmul(a, b, out=other)

        return Prepared(out, lambda module: module.matmul(a, b, out, **given), library, library)

    return Case(f"{file} {size}", file, 2.0 * size**3, "TFLOP/s", prepare)


def groups_of(rows: int, groups: int, size: int) -> Case:
    """Groups of different lengths, `rows` in all."""

    def prepare() -> Prepared:
        import torch

        inner = torch.sort(torch.randint(0, rows, (groups - 1,), generator=torch.Generator().manual_seed(0))).values
        bounds = [0, *inner.tolist(), rows]
        ends = torch.tensor(bounds[1:], device="cuda", dtype=torch.int32)
        a, b = half(rows, size), half(groups, size, size)
        out, other = torch.empty_like(a), torch.empty_like(a)

        def library() -> Any:
            for each, (first, end) in enumerate(itertools.pairwise(bounds)):
                if end > first:
                    torch.matmul(a[first:end], b[each], out=other[first:end])
            return other

        return Prepared(out, lambda module: module.matmul(a, b, ends, out, programs=programs()), library, library)

    return Case(f"grouped_matmul {groups} groups", "grouped_matmul", 2.0 * rows * size * size, "TFLOP/s", prepare)


def attention_of(width: int, length: int, causal: bool) -> Case:
    """16,384 rows of 2,048 features."""
    batch, heads = 16384 // length, 2048 // width

    def prepare() -> Prepared:
        import torch

        q, k, v = (half(batch, heads, length, width) for _ in range(3))
        out = torch.empty_like(q)
        library = fastest_attention(q, k, v, causal)
        return Prepared(out, lambda module: module.attention(q, k, v, out, causal), library, library)

    work = 4.0 * batch * heads * length**2 * width / (2 if causal else 1)
    return Case(f"attention d{width} {length}{' causal' if causal else ''}", "attention", work, "TFLOP/s", prepare)


def fastest_attention(q: Any, k: Any, v: Any, causal: bool) -> Callable[[], Any]:
    """The backend of torch that takes the least time."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def by(backend: Any) -> Callable[[], Any]:
        def run() -> Any:
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, is_causal=causal)

        return run

    times: dict[Callable[[], Any], float] = {}
    for name in ("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"):
        try:
            run = by(getattr(SDPBackend, name))
            times[run] = median_milliseconds(run)
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {str(error)[:80]}", flush=True)
    return min(times, key=lambda run: times[run])


def fp8_of(size: int) -> Case:
    def prepare() -> Prepared:
        import torch

        a, b = (torch.randn((size, size), device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
        a_scales = torch.rand((size // 128, size), device="cuda") / 16 + 0.5
        b_scales = torch.rand((size // 128, size // 128), device="cuda") / 16 + 0.5
        out = torch.empty((size, size), device="cuda", dtype=torch.float16)
        ones = torch.ones((size, 1), device="cuda")

        def expected() -> Any:
            x = (a.float() * a_scales.T.repeat_interleave(128, 1)).half()
            y = (b.float() * b_scales.T.repeat_interleave(128, 0).repeat_interleave(128, 1)).half()
            return x @ y.T

        def library() -> Any:
            return torch._scaled_mm(a, b.T, scale_a=ones, scale_b=ones.T, out_dtype=torch.bfloat16)

        given = (a.view(torch.uint8), b.view(torch.uint8), a_scales, b_scales, out)
        return Prepared(out, lambda module: module.matmul(*given, programs=programs()), expected, library)

    return Case(f"fp8_matmul {size}", "fp8_matmul", 2.0 * size**3, "TFLOP/s", prepare)


def int4_of(tokens: int, rows: int, k: int) -> Case:
    """Of `tokens` with `rows` x `k` weights."""

    def prepare() -> Prepared:
        import torch

        weights = torch.randint(-8, 8, (rows, k), dtype=torch.int8)
        pack = load_file(EXAMPLES / "int4_matmul.py", "minitriton").pack
        packed = torch.from_numpy(pack(weights.numpy())).cuda()
        scales = (torch.rand((k // 128, rows), device="cuda") / 8).half()
        wide = (weights.cuda().half() * scales.T.repeat_interleave(128, 1)).contiguous()
        x = half(tokens, k)
        out = torch.empty((tokens, rows), device="cuda", dtype=torch.float16)

        def library() -> Any:
            return x @ wide.T

        return Prepared(out, lambda module: module.matmul(x, packed, scales, out), library, library)

    return Case(f"int4_matmul {tokens}x{rows}x{k}", "int4_matmul", rows * k / 2, "GB/s", prepare)


def cases() -> Iterator[Case]:
    """In the order of the table."""
    yield copy_of("copy", 8192)
    yield copy_of("tma_copy", 8192)
    yield transpose_of(8192)
    yield matmul_of("async_matmul", 4096)
    yield matmul_of("wgmma_matmul", 8192, bm=128, bn=256, warps=8, stages=4)
    yield matmul_of("persistent_matmul", 8192)
    yield matmul_of("persistent_matmul", 4096)
    for causal, width, length in itertools.product((False, True), (128, 64), (4096, 8192, 16384)):
        if width == 128 or length == 4096:
            yield attention_of(width, length, causal)
    yield groups_of(8192, 8, 4096)
    yield fp8_of(8192)
    yield int4_of(64, 16384, 8192)


def measure(case: Case, rounds: int, control: bool) -> Row:
    """Speeds, ratios and resources. Raises where minitriton's kernel fails or is wrong; another contender is left out."""
    import torch

    prepared = case.prepare()
    wanted = prepared.expected()
    found: Row = {"name": case.name, "unit": case.unit}
    runs: dict[str, Callable[[], Any]] = {}
    for compiler in COMPILERS:
        print(RUNNING, compiler, flush=True)
        try:
            module = load_file(EXAMPLES / f"{case.file}.py", compiler)
            prepared.out.fill_(-7)
            kernel = prepared.launch(module)
            torch.cuda.synchronize()
            apart = largest_difference(prepared.out, wanted)
            assert apart < TOLERANCE, f"{compiler} is wrong by {apart:.3g} of the largest number"
            found[f"{compiler} difference"] = apart
            found[f"{compiler} resources"] = resources(kernel)
            runs[compiler] = functools.partial(prepared.launch, module)
        except Exception as error:
            if compiler == "minitriton":
                raise
            found[f"{compiler} error"] = f"{type(error).__name__}: {error}"
            traceback.print_exc(limit=-2)
    if prepared.library is not None:
        try:
            prepared.library()
            runs["torch"] = prepared.library
        except Exception as error:
            found["torch error"] = f"{type(error).__name__}: {error}"
            print(f"  torch: {found['torch error'][:160]}", flush=True)
    if control and "triton" in runs:
        runs["control"] = functools.partial(runs["triton"])
    found["milliseconds by round"] = times = time_in_turns(runs, rounds=rounds)
    for name, milliseconds in times.items():
        found[name] = case.work / statistics.median(milliseconds) / (1e9 if case.unit == "TFLOP/s" else 1e6)
    for key, other in (("ratio", "triton"), ("to torch", "torch")):
        if other in times:
            found[key] = ratio(times, other)
    if "triton" in times:
        found["interval"] = interval(times, "triton")
    if "control" in times:
        found["control ratio"] = ratio({"minitriton": times["control"], "triton": times["triton"]}, "triton")
    return found


def _line(row: Row) -> str:
    def number(key: str, width: int, digits: int) -> str:
        return f"{row[key]:{width}.{digits}f}" if key in row else f"{'-':>{width}}"

    low, high = row.get("interval", (math.nan, math.nan))
    return (
        f"{row['name']:28} {number('minitriton', 10, 1)} {number('triton', 8, 1)} {number('torch', 8, 1)} {row['unit']:8}"
        f"{number('ratio', 7, 3)} {low:6.3f}-{high:.3f} {number('control ratio', 7, 3)} {number('to torch', 9, 3)}"
        f"   {row.get('minitriton resources', '-')}, {row.get('triton resources', '-')}"
    )


def work(names: Sequence[str], rounds: int, control: bool) -> int:
    """In a process of its own: measures the cases of these names, a row of JSON a line, and ends after the first that fails."""
    by_name = {case.name: case for case in cases()}
    for name in names:
        try:
            row = measure(by_name[name], rounds, control)
        except Exception as error:
            traceback.print_exc(limit=-3)
            row = {"name": name, "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(row), flush=True)
        if "error" in row:
            return 1
    return 0


def measured(names: list[str], options: list[str]) -> Iterator[Row]:
    """A row of each name. A process that fails, or says nothing for `PATIENCE` seconds, is replaced for the cases after that one."""
    while names:
        command = [sys.executable, __file__, "--worker", *options, *names]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        done, last, timer = 0, "", threading.Timer(PATIENCE, worker.kill)
        timer.start()
        for text in worker.stdout:
            timer.cancel()
            timer = threading.Timer(PATIENCE, worker.kill)
            timer.start()
            if text.startswith("{"):
                done += 1
                yield json.loads(text)
            elif text.startswith(RUNNING):
                last = text.removeprefix(RUNNING).strip()
            else:
                print(text, end="", flush=True)
        code = worker.wait()
        timer.cancel()
        if done < len(names) and code != 1:
            yield {
                "name": names[done],
                "error": f"with the kernel of {last} the process ended with {code}: killed after {PATIENCE} s, or crashed",
            }
            done += 1
        elif not done:
            yield {"name": names[0], "error": "its process could not start"}
            done = 1
        names = names[done:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--out", help="also write the figures to this file, as JSON, after each case")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of a case, at least (default: %(default)s)")
    parser.add_argument("--control", action="store_true", help="also Triton against itself")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    need_gpu()
    if arguments.worker:
        return work(arguments.names, arguments.rounds, arguments.control)
    title = f"{'case':28} {'minitriton':>10} {'Triton':>8} {'torch':>8} {'':8}{'ratio':>7} {'interval':>12} {'control':>7} {'to torch':>9}"
    print(f"{title}   registers/spills/shared", flush=True)
    names = [case.name for case in cases() if not arguments.names or any(each in case.name for each in arguments.names)]
    rows: list[Row] = []
    for row in measured(names, ["--rounds", str(arguments.rounds), *(["--control"] if arguments.control else [])]):
        rows.append(row)
        print(f"{row['name']:28} {row['error'][:160]}" if "error" in row else _line(row), flush=True)
        if arguments.out:
            Path(arguments.out).write_text(json.dumps(rows, indent=1) + "\n")
    for key in ("ratio", "control ratio", "to torch"):
        found = [row[key] for row in rows if key in row]
        if found:
            print(
                f"{key}: geometric mean {math.exp(statistics.fmean(map(math.log, found))):.3f}, least {min(found):.3f}"
            )
    return int(any("error" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
