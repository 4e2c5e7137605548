"""`matmul_ogs` of Triton's `triton_kernels` (dense and mixture of experts; bf16, fp8, mxfp4) with minitriton and with Triton, on one GPU.

    python benchmarks/matmul_ogs.py TRITON/python/triton_kernels [--only REGEX] [--rounds N] [--json FILE]

Each compiler runs in a process of its own (`two_processes.py`). Medians of the rounds in microseconds; ratios are Triton's time to ours.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from two_processes import compare, work

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the folder of Triton 3.6.0's triton_kernels")
    parser.add_argument("--only", default="", help="a regular expression of cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begins no case after these")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return work(call_of)
    cases = filter(re.compile(given.only).search, CASES)
    compare(cases, __file__, ["--worker", given.folder], [given.folder], given.rounds, given.json, given.seconds)


if __name__ == "__main__":
    main()
