"""`nvgpu-warp-specialization` makes of each kernel what Triton's does, but for the order of what has none.

Triton takes groups of channels in the order of their addresses, so the order of waits, captures and barriers within a block does not count. Ours is
asked to keep Triton's choice where it is another on purpose (`fall-back=false`). Not here are kernels of which Triton makes something wrong:
`rows_of_b` loses its producer's loop, `two_products` is refused, and a cut `stored_by_pointers` stores its second half 64 rows too low.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

pytest.importorskip("triton")

from block_multisets import structure
from triton._C.libtriton import nvidia
from wheel_passes import on_wheel
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.cse import Cse
from minitriton.passes.warp_specialization.warp_specialization import WarpSpecialization
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import ttgir_passes, ttir_passes
from minitriton.target import CUDAOptions, GPUTarget
from minitriton_kernels.cases import load_kernels

kernels = load_kernels("specialized", "minitriton")

pytestmark = pytest.mark.oracle

CONTEXT = make_context()
TILES = [(64, 64, 64), (128, 64, 64), (128, 128, 64), (128, 256, 64), (128, 128, 128)]
LOOPS = [
    (name, {"STAGES": stages, "BM": rows, "BN": columns, "BK": depth}, element)
    for name in ("matmul", "scaled")
    for stages, element in ((2, "fp16"), (3, "bf16"))
    for rows, columns, depth in TILES
]
WHOLE = [
    ("stored_by_pointers", {"STAGES": stages, "BM": 64, "BN": columns, "BK": 64}, "fp16")
    for stages, columns in ((2, 64), (3, 128))
]
FLOAT8 = [("matmul", {"STAGES": 3, "BM": 128, "BN": columns, "BK": 128}, "fp8e4nv") for columns in (64, 128, 256)]
NESTS = [
    (name, {"PROGRAMS": 132, "STAGES": stages, "BM": rows, "BN": columns, "BK": depth}, "fp16")
    for name in ("persistent", "inner_marked")
    for stages in (2, 3)
    for rows, columns, depth in TILES[:4]
]
ATTENTION = [
    ("attention", {"SCALE": 0.5, "STAGES": stages, "BM": 128, "BN": columns, "D": depth}, element)
    for stages, columns, depth, element in ((2, 64, 64, "fp16"), (3, 128, 64, "bf16"), (2, 128, 128, "fp16"))
]
CASES = [*LOOPS, *WHOLE, *FLOAT8, *NESTS, *ATTENTION]


@cache
def before(name: str, constants: tuple[tuple[str, Any], ...], element: str) -> str:
    """The text of a kernel before the pass."""
    kernel, given = getattr(kernels, name), dict(constants)
    signature: dict[str, str] = {
        n: "constexpr" if n in given else f"*{element}" if n.islower() else "i32" for n in kernel.arg_names
    }
    places = {n: (kernel.arg_names.index(n),) for n in kernel.arg_names}
    attributes = {places[n]: [["tt.divisibility", 16]] for n in kernel.arg_names if n not in given}
    target = GPUTarget("cuda", 90, 32)
    options = CUDAOptions.for_target(target, num_warps=4)
    source = ASTSource(kernel, signature, {places[n]: v for n, v in given.items()}, attributes)
    module = source.make_ir(target, options, CONTEXT)
    steps = [*ttir_passes(target), *ttgir_passes(target, options)]
    end = next(i for i, step in enumerate(steps) if step.startswith("nvgpu-warp-specialization"))
    PassManager(Pipeline.parse(",".join(steps[:end]))).run(CONTEXT, module)
    return print_module(module)


def settled(module: ModuleOp) -> str:
    """What tells modules apart when equal ops are merged and dead ones gone."""
    for _ in range(2):
        Cse().apply(CONTEXT, module)
        Canonicalize().apply(CONTEXT, module)
    return structure(module)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, (case[0], *case[1].values(), case[2]))))
def test_the_partitions_are_triton_s(case: tuple[str, dict[str, Any], str]) -> None:
    name, constants, element = case
    text = before(name, tuple(constants.items()), element)
    ours = parse_module(text)
    WarpSpecialization(num_stages=3, fall_back=False).apply(CONTEXT, ours)
    ours.verify()
    theirs = parse_module(on_wheel(text, [lambda pm: nvidia.passes.hopper.add_hopper_warpspec(pm, 3, False)]))
    assert "ttg.warp_specialize" in print_module(theirs)
    assert settled(ours) == settled(theirs)
