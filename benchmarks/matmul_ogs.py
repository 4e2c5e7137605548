"""`matmul_ogs` of Triton's `triton_kernels` (dense and mixture of experts; bf16, fp8, mxfp4) with minitriton and with Triton, on one GPU.

    python benchmarks/matmul_ogs.py TRITON/python/triton_kernels [--only REGEX] [--rounds N] [--json FILE]

Each compiler runs in a process of its own; their measurements take turns. Host: a call that nobody waits for. Call: calls one after the
other. Device: replays of a CUDA graph of calls. Medians of the rounds in microseconds; ratios are Triton's time to ours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

CASES: dict[str, tuple[str, int, int, int]] = {
    "flat bf16 8192": ("bf16", 8192, 8192, 0),
    "flat bf16 512": ("bf16", 512, 8192, 0),
    "flat fp16 2048": ("fp16", 2048, 4096, 0),
    "flat fp8 4096": ("fp8", 4096, 8192, 0),
    "flat fp8 512": ("fp8", 512, 8192, 0),
    "dense bf16 4096": ("bf16", 4096, 8192, 1),
    "dense fp8 4096": ("fp8", 4096, 8192, 1),
    "dense fp8 512": ("fp8", 512, 8192, 1),
    "dense mxfp4 4096": ("mxfp4", 4096, 8192, 1),
    "dense mxfp4 512": ("mxfp4", 512, 8192, 1),
    "experts bf16 16": ("bf16", 16, 5760, 128),
    "experts bf16 1024": ("bf16", 1024, 5760, 128),
    "experts fp8 16": ("fp8", 16, 5760, 128),
    "experts fp8 1024": ("fp8", 1024, 5760, 128),
    "experts fp8 8192": ("fp8", 8192, 5760, 128),
    "experts mxfp4 16": ("mxfp4", 16, 5760, 128),
    "experts mxfp4 256": ("mxfp4", 256, 5760, 128),
    "experts mxfp4 1024": ("mxfp4", 1024, 5760, 128),
    "experts mxfp4 8192": ("mxfp4", 8192, 5760, 128),
    "experts mxfp4 1024 swiglu": ("mxfp4", 1024, 5760, 128),
    "experts mxfp4 8192 scatter": ("mxfp4", 8192, 5760, 128),
    "small mxfp4 16": ("mxfp4", 16, 128, 4),
}
"""Type of the weights, rows of x, K = N, and experts: 0 for weights of two dimensions, which `matmul_ogs` tiles by 16 rows."""


def call_of(case: str) -> Callable[[], Any]:
    """A call of `matmul_ogs`, with its operands on the GPU."""
    import torch
    import triton_kernels.matmul_ogs as ogs
    from triton_kernels.numerics import InFlexData
    from triton_kernels.numerics_details.mxfp import downcast_to_mxfp
    from triton_kernels.swiglu import swiglu_fn
    from triton_kernels.tensor import FP4, convert_layout, make_ragged_tensor_metadata, wrap_torch_tensor
    from triton_kernels.tensor_details import layout
    from triton_kernels.topk import topk

    kind, rows, size, experts = CASES[case]
    torch.manual_seed(0)
    on_gpu = {"device": "cuda", "dtype": torch.bfloat16}
    w: Any = torch.randn((experts, size, size) if experts else (size, size), **on_gpu)
    x: Any = torch.randn(rows, size, **on_gpu)
    scale: Any = None
    flex = InFlexData()
    if kind == "mxfp4":
        w, scale = downcast_to_mxfp(w, torch.uint8, axis=1)
        value, options = layout.make_default_matmul_mxfp4_w_layout(mx_axis=1)
        w = convert_layout(wrap_torch_tensor(w, dtype=FP4), value, **options)
        warps = 4 if rows <= 512 else 8
        value, options = layout.make_default_matmul_mxfp4_w_scale_layout(mx_axis=1, num_warps=warps)
        scale = convert_layout(wrap_torch_tensor(scale), value, **options)
    else:
        type_ = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float8_e4m3fn}[kind]
        if kind == "fp8":
            flex = InFlexData(dtype=type_, scale=w[:1].abs().max().float().unsqueeze(0))
        w, x = w.to(type_).transpose(-1, -2).contiguous().transpose(-1, -2), x.to(type_)
    config = ogs.PrecisionConfig(flex_ctx=ogs.FlexCtx(rhs_data=flex), weight_scale=scale)
    more: dict[str, Any] = {"precision_config": config}
    if "swiglu" in case:
        specs = ogs.FnSpecs("swiglu", swiglu_fn, ("alpha", "limit"), reduction_n=2)
        more["fused_activation"] = ogs.FusedActivation(specs, (1.0, 1.0))
    bias = torch.randn((experts, size) if experts else (size,), device="cuda")
    routing = None
    if experts > 1:
        active = min(4, experts // 2)
        mask = topk(torch.randn(rows, experts, device="cuda", dtype=torch.float16), active).mask_metadata
        dispatch, combine = mask.row_sorted_indx, mask.col_sorted_indx
        ragged = make_ragged_tensor_metadata(mask.col_sum, dispatch.shape[0])
        routing = ogs.RoutingData(None, ragged.slice_sizes, experts, active, ragged)
        if "scatter" in case:
            x = x[(combine // active).long()].contiguous()
            more["scatter_indx"] = ogs.ScatterIndx(dispatch, combine)
        else:
            more["gather_indx"] = ogs.GatherIndx(combine, dispatch)
    torch.cuda.empty_cache()
    return lambda: ogs.matmul_ogs(x, w, bias, routing, **more)


class Timing:
    """A case that is ready to be measured."""

    def __init__(self, case: str) -> None:
        import torch

        self.call, self.cuda = call_of(case), torch.cuda
        self.mean = self.call().float().abs().mean().item()
        self.seconds = self._each(20)
        with self.cuda.stream(self.cuda.Stream()):
            self.call()
        self.cuda.synchronize()
        self.calls = max(2, min(100, int(0.005 / self.seconds)))
        self.graph = self.cuda.CUDAGraph()
        with self.cuda.graph(self.graph):
            for _ in range(self.calls):
                self.call()

    def _each(self, count: int, *, to_the_end: bool = True) -> float:
        self.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            self.call()
        if to_the_end:
            self.cuda.synchronize()
        return (time.perf_counter() - start) / count

    def measure(self) -> dict[str, float]:
        """Microseconds of a call."""
        host = min(self._each(12, to_the_end=False) for _ in range(5))
        whole = self._each(max(5, int(0.15 / self.seconds)))
        device: list[float] = []
        for _ in range(max(4, int(0.15 / self.seconds / self.calls))):
            first, last = self.cuda.Event(enable_timing=True), self.cuda.Event(enable_timing=True)
            first.record()
            self.graph.replay()
            last.record()
            last.synchronize()
            device.append(first.elapsed_time(last) / self.calls * 1e3)
        return {"host": host * 1e6, "call": whole * 1e6, "device": statistics.median(device)}


def work() -> None:
    """Answers lines: `begin CASE`, `measure`."""
    timing: Timing | None = None
    for line in sys.stdin:
        what, _, case = line.strip().partition(" ")
        if what == "begin":
            timing = None
            timing = Timing(case)
            answer: Any = timing.mean
        else:
            assert timing is not None
            answer = timing.measure()
        print("ANSWER", json.dumps(answer), flush=True)


class Worker:
    """A process with one of the compilers."""

    def __init__(self, side: str, folder: str) -> None:
        paths = [str(ROOT), folder, os.environ.get("PYTHONPATH", "")]
        run = ["-m", "minitriton.run_as_triton"] if side == "minitriton" else []
        self.process = subprocess.Popen(
            [sys.executable, *run, __file__, "--worker", folder],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, words: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(words, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line[7:])
        raise SystemExit(f"a worker ended: {self.process.wait()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the folder of Triton 3.6.0's triton_kernels")
    parser.add_argument("--only", default="", help="a regular expression of cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return work()
    workers = {side: Worker(side, given.folder) for side in ("minitriton", "triton")}
    table: list[dict[str, Any]] = []
    print(f"{'case':28}{'host':>20}{'call':>24}{'device':>24}    Triton's time to ours")
    for case in filter(re.compile(given.only).search, CASES):
        means = {side: worker.ask(f"begin {case}") for side, worker in workers.items()}
        rounds = [
            {side: workers[side].ask("measure") for side in sorted(workers, reverse=number % 2 == 0)}
            for number in range(given.rounds)
        ]
        median = {
            what: {side: statistics.median(r[side][what] for r in rounds) for side in workers}
            for what in ("host", "call", "device")
        }
        columns = "".join(f"{m['minitriton']:12.1f} /{m['triton']:9.1f}" for m in median.values())
        ratios = "".join(f"{m['triton'] / m['minitriton']:7.3f}" for m in median.values())
        print(f"{case:28}{columns}  {ratios}  {'' if means['minitriton'] == means['triton'] else means}", flush=True)
        table.append({"case": case, "means": means, "median": median})
        if given.json:
            given.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
