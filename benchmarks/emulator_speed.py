"""Milliseconds that the emulator takes, with all its checks, for a kernel of 256 threads with 1,000 dynamic instructions and for
one 128x128x64 float16 step of a warpgroup product (its tensor copies and waits included).

    python benchmarks/emulator_speed.py            two lines: figure, limit
    python benchmarks/emulator_speed.py --wall     by the wall clock instead of processor time

The step is the difference between a product with ten steps and one with a single step, by nine; it needs Triton for the PTX.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minitriton import emulator

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "emulator")]
REPEATS = 7
MIXED = """
    xor.b32 %r1, %r1, 5; mad.lo.s32 %r2, %r1, 3, %r2; fma.rn.f32 %r4, %r2, %r2, %r4; shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;
    setp.lt.s32 %p2, %r1, %r2; selp.b32 %r6, %r1, %r5, %p2; add.s32 %r2, %r2, %r6; mul.f32 %r4, %r4, 0f3F000000;"""
KERNEL = f"""
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p0)
.reqntid 256
{{
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %rd<9>;
.shared .align 16 .b8 buffer[1024];
ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mov.b32 %r2, 1; mov.b32 %r4, 0f3F800000; mov.b32 %r9, 0;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; shl.b32 %r10, %r1, 2; mov.b32 %r11, buffer; add.s32 %r12, %r11, %r10;
xor.b32 %r13, %r12, 128;
LOOP: {MIXED * 4}
    st.shared.b32 [%r12], %r4; bar.sync 0; ld.shared.b32 %r7, [%r13]; bar.sync 0; ld.global.b32 %r8, [%rd3];
    add.s32 %r8, %r8, %r7; st.global.b32 [%rd3], %r8;
    add.s32 %r9, %r9, 1; setp.lt.s32 %p1, %r9, 25; @%p1 bra LOOP;
ret;
}}
"""


def milliseconds(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """The best of several runs, the first of which (it translates) is not counted."""
    run()
    best = float("inf")
    for _ in range(REPEATS):
        start = clock()
        run()
        best = min(best, clock() - start)
    return 1e3 * best


def thousand_instructions(clock: Callable[[], float]) -> float:
    """Scaled to 1,000 instructions a thread."""
    array = np.zeros(256, np.uint32)
    report = emulator.run(KERNEL, "k", (1,), [array])
    assert report.ok, report.findings
    count = sum(report.mix().values()) / 8
    return milliseconds(lambda: emulator.run(KERNEL, "k", (1,), [array]), clock) * 1000 / count


def product_step(clock: Callable[[], float]) -> float:
    """One step of 64 along K of a 128x128 tile, from Triton's PTX with descriptors."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from minitriton_kernels.cases import load_kernels

    kernel, tile = load_kernels("matrix", "triton").by_descriptors, {"BM": 128, "BN": 128, "BK": 64}
    kinds = {
        "a": "*fp16",
        "b": "*fp16",
        "c": "*fp32",
        **dict.fromkeys("MNK", "i32"),
        **dict.fromkeys(tile, "constexpr"),
    }
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    made = triton.compile(
        ASTSource(kernel, kinds, tile, attrs), target=GPUTarget("cuda", 90, 32), options={"num_stages": 3}
    )
    rng = np.random.default_rng(0)

    def of_depth(k: int) -> float:
        a, b = rng.standard_normal((128, k)).astype(np.float16), rng.standard_normal((k, 128)).astype(np.float16)
        arguments = [a, b, np.zeros((128, 128), np.float32), 128, 128, k]
        shared = made.metadata.shared
        return milliseconds(
            lambda: emulator.run(made.asm["ptx"], None, (1, 1), arguments, shared, scratch=1 << 20), clock
        )

    return (of_depth(640) - of_depth(64)) / 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wall", action="store_true")
    clock = time.perf_counter if parser.parse_args().wall else time.process_time
    print(f"1,000 instructions of 256 threads   {thousand_instructions(clock):6.1f} ms   (limit 20)")
    print(f"128x128x64 wgmma step               {product_step(clock):6.1f} ms   (limit 30)")


if __name__ == "__main__":
    main()
