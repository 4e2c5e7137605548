"""Calls of functions in the same PTX, and indexed branches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitriton import emulator

Run = Callable[..., emulator.Report]

FUNCTIONS = """
.version 8.7
.target sm_90a
.address_size 64
.func (.param .b32 func_retval0) twice(.param .b32 twice_param_0);
.func (.param .align 8 .b8 func_retval0[8]) sum_and_twice(
    .param .b32 sum_and_twice_param_0,
    .param .align 8 .b8 sum_and_twice_param_1[8]
)
{
.reg .b32 %r<10>;
ld.param.b32 %r1, [sum_and_twice_param_0];
ld.param.v2.b32 {%r2, %r3}, [sum_and_twice_param_1];
add.s32 %r4, %r1, %r2;
add.s32 %r4, %r4, %r3;
{ // callseq 0
.param .b32 param0;
.param .b32 retval0;
st.param.b32 [param0], %r4;
call.uni (retval0), twice, (param0);
ld.param.b32 %r5, [retval0];
}
st.param.b32 [func_retval0], %r4;
st.param.b32 [func_retval0+4], %r5;
ret;
}
.func (.param .b32 func_retval0) twice(.param .b32 twice_param_0)
{
.reg .pred %p<2>;
.reg .b32 %r<10>;
.local .align 4 .b8 mine[4];
ld.param.b32 %r1, [twice_param_0];
setp.lt.u32 %p1, %r1, 40;
@%p1 bra $L__BB1_1;
st.param.b32 [func_retval0], 0;
ret;
$L__BB1_1:
st.local.b32 [mine], %r1;
ld.local.b32 %r2, [mine];
add.s32 %r2, %r2, %r1;
st.param.b32 [func_retval0], %r2;
ret;
}
.visible .entry k(.param .u64 p0)
.reqntid 32
{
.reg .b32 %r<10>;
.reg .b64 %rd<10>;
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 8;
add.s64 %rd3, %rd1, %rd2;
{ // callseq 1
.param .b32 param0;
.param .align 8 .b8 param1[8];
.param .align 8 .b8 retval0[8];
st.param.b32 [param0], %r1;
st.param.b32 [param1], 1;
st.param.b32 [param1+4], 2;
call.uni (retval0), sum_and_twice, (param0, param1);
ld.param.v2.b32 {%r2, %r3}, [retval0];
}
{ // callseq 2
.param .b32 param0;
.param .b32 retval0;
st.param.b32 [param0], %r3;
call.uni (retval0), twice, (param0);
ld.param.b32 %r4, [retval0];
}
st.global.v2.b32 [%rd3], {%r2, %r4};
ret;
}
"""


def test_functions_take_and_return_values_and_call_each_other() -> None:
    out = np.zeros((32, 2), np.uint32)
    report = emulator.run(FUNCTIONS, "k", (1,), [out])
    assert report.ok, report.findings
    total = np.arange(32) + 3
    double = np.where(total < 40, 2 * total, 0)
    np.testing.assert_array_equal(out, np.stack([total, np.where(double < 40, 2 * double, 0)], 1))


def test_a_function_that_calls_itself_is_refused() -> None:
    text = FUNCTIONS.replace(
        "call.uni (retval0), twice, (param0);\nld.param.b32 %r5",
        "call.uni (retval0), sum_and_twice, (param0, param0);\nld.param.b32 %r5",
    )
    with pytest.raises(emulator.EmulationError, match="calls itself"):
        emulator.parse(text)


def test_an_unknown_function_is_refused_where_it_is_called(emulate: Run) -> None:
    with pytest.raises(emulator.EmulationError, match="calls functions of this PTX") as raised:
        emulate(
            "{ .param .b32 param0; st.param.b32 [param0], %r100; call.uni elsewhere, (param0); }",
            np.zeros(1, np.uint32),
        )
    assert "elsewhere" in str(raised.value)


def test_an_indexed_branch_goes_where_its_table_says(emulate: Run) -> None:
    out = np.zeros(32, np.uint32)
    body = """
    and.b32 %r1, %r100, 3;
    $L_brx_0: .branchtargets
        ZERO,
        ONE, TWO,
        ONE;
    brx.idx %r1, $L_brx_0;
    ZERO: mov.b32 %r2, 10; bra END;
    ONE: mov.b32 %r2, 11; bra END;
    TWO: mov.b32 %r2, 12;
    END: st.global.b32 [%rd91], %r2;"""
    report = emulate(body, out)
    assert report.ok
    np.testing.assert_array_equal(out, np.array([10, 11, 12, 11])[np.arange(32) % 4])


@pytest.mark.oracle
def test_triton_s_functions_that_are_not_inlined() -> None:
    triton = pytest.importorskip("triton")
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    globals()["tl"] = tl

    @triton.jit(noinline=True)
    def scaled(x, y):
        return x * y + 1.0

    globals()["scaled"] = scaled

    @triton.jit
    def kernel(x, out, N: tl.constexpr):
        i = tl.arange(0, N)
        total = 0.0
        for k in range(3):
            total = scaled(total, 2.0 + k)
        tl.store(out + i, tl.load(x + i) + total)

    signature: Any = {"x": "*fp32", "out": "*fp32", "N": "constexpr"}
    made = triton.compile(ASTSource(kernel, signature, {"N": 128}, {}), target=GPUTarget("cuda", 90, 32))
    assert "call.uni" in made.asm["ptx"]
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    report = emulator.run(made.asm["ptx"], None, (1,), [x, out], made.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, x + ((1 * 3 + 1) * 4 + 1))
