"""Products of every operand type by Triton's own PTX: the bits are those of the tensor cores' sums, step by step."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton import emulator
from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.operations.tensor_core import Accumulation, multiply_accumulate, multiply_accumulate_integers
from minitriton_kernels.cases import load_kernels

sys.path.insert(0, str(Path(__file__).parent))

triton = pytest.importorskip("triton")
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
DEPTH = 128
WAYS: dict[str, tuple[str, Any, Any, int]] = {
    "fp16": ("f16", lambda x: x.astype(np.float16), lambda w: w.astype(np.float64), 16),
    "bf16": ("bf16", lambda x: sf.bf16_from(x.astype(np.float32)), lambda w: sf.bf16_to(w).astype(np.float64), 16),
    "fp32": (
        "tf32", lambda x: x.astype(np.float32),
        lambda w: (w.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64), 8,
    ),
    "fp8e4nv": ("e4m3", sf.e4m3_from, lambda w: sf.e4m3_to(w).astype(np.float64), 32),
    "fp8e5": ("e5m2", sf.e5m2_from, lambda w: sf.e5m2_to(w).astype(np.float64), 32),
    "i8": ("s8", lambda x: np.clip(np.rint(30 * x), -128, 127).astype(np.int8), lambda w: w.astype(np.float64), 32),
}  # fmt: skip
"""By Triton's type: the operand format, arrays of it from reals, its values, the depth of one `wgmma` (of one `mma` alike)."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("type", "capability"), [(t, c) for t in WAYS for c in (80, 90) if not (c == 80 and "fp8" in t)]
)
def test_sums_are_those_of_the_tensor_cores(type: str, capability: int) -> None:
    format, make, values, depth = WAYS[type]
    whole = type == "i8"
    constants = {"SUM": tl.int32 if whole else tl.float32, "BM": 64, "BN": 32, "BK": 64}
    kinds = {"a": f"*{type}", "b": f"*{type}", "c": "*i32" if whole else "*fp32", "K": "i32"}
    kernel = load_kernels("matrix", "triton").one_tile
    source = ASTSource(
        kernel,
        {**kinds, **dict.fromkeys(constants, "constexpr")},
        constants,
        {(i,): [["tt.divisibility", 16]] for i in range(4)},
    )
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    ptx = made.asm["ptx"]
    assert ("wgmma.mma_async" if capability == 90 else "mma.sync") in ptx
    assert f".{format}.{format}" in ptx
    rng = np.random.default_rng(0)
    a, b = make(rng.standard_normal((64, DEPTH))), make(rng.standard_normal((32, DEPTH)))
    c = np.zeros((64, 32), np.int32 if whole else np.float32)
    report = emulator.run(ptx, None, (1,), [a, b, c, DEPTH], made.metadata.shared)
    assert report.ok, report.findings
    left, right = values(a), values(b).T
    np.testing.assert_allclose(c, left @ right, rtol=0.02, atol=0.05)
    wanted = np.zeros_like(c)
    how = Accumulation(format, format, "f32", narrow=format.startswith("e"))
    for start in range(0, DEPTH, depth):
        x, y = left[:, start : start + depth], right[start : start + depth]
        wanted = multiply_accumulate_integers(x, y, wanted, True) if whole else multiply_accumulate(x, y, wanted, how)
    if "fp8" not in type:
        np.testing.assert_array_equal(c, wanted)
    else:
        np.testing.assert_allclose(c, wanted, rtol=2.0**-12, atol=2.0**-9)
