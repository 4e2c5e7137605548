"""What kernels take that are opened without a launch, as their bodies use it."""

import re
from pathlib import Path

import pytest

import minitriton as triton
from minitriton import language as tl
from minitriton.commands.inferred_signature import inferred_signature, strides_as_used
from minitriton.commands.kernel_files import load_kernel
from minitriton.commands.signature import ast_source
from minitriton.dialects.context import make_context
from minitriton.errors import MinitritonError
from minitriton.target import CUDAOptions, GPUTarget

KERNELS = Path(__file__).parents[1] / "minitriton_kernels"


@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)


@triton.jit
def rows_named_elsewhere(table, which, result, width, D: tl.constexpr):
    row = tl.load(which + tl.program_id(0))
    d = tl.arange(0, D)
    tl.store(result + tl.program_id(0) * width + d, tl.load(table + row * width + d))


@triton.jit
def tile(
    first, second, out, inner, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, WIDE: tl.constexpr
):  # fmt: skip
    down = tl.program_id(0) // GROUP
    m, n, k = down * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left, right = first + m[:, None] * inner + k[None, :], second + k[:, None] * N + n[None, :]
    acc = tl.zeros((M, N), dtype=WIDE)
    for _ in range(0, inner, K):
        acc = tl.dot(tl.load(left), tl.load(right), acc)
        left += K
        right += K * N
    tl.store(out + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


@triton.jit
def _kept(at, p, seed, i):
    return tl.where(tl.rand(seed, i) > p, at, 0.0)


@triton.jit
def dropped(x, out, p, seed, SCALE: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    value = _kept(tl.load(x + i), p, seed, i)
    if SCALE:
        value = value / (1 - p)
    tl.store(out + i, value)


@triton.jit
def copied(source, target, R: tl.constexpr):
    target.store([0, 0], source.load([0, 0]))


@triton.autotune(configs=[triton.Config({"BLOCK": 256}, num_warps=8)], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.argmax(tl.load(x + i, i < n), 0))


@triton.jit
def _stepped(acc, IS_LAST: tl.constexpr, STAGE: tl.constexpr):
    if IS_LAST and STAGE == 3:
        acc += 1
    return acc


@triton.jit
def flagged(
    x, out, n, CAUSAL: tl.constexpr, EVEN: tl.constexpr, RELU: tl.constexpr, LAST: tl.constexpr, STAGE: tl.constexpr, BITS: tl.constexpr, B: tl.constexpr
):  # fmt: skip
    first = tl.program_id(0) * B
    stop = first + B if CAUSAL else n
    acc = tl.zeros([B], tl.float32)
    for start in range(0, stop, B):
        acc += tl.load(x + start + tl.arange(0, B)) if EVEN == True else 0.0  # noqa: E712
    if not RELU or BITS & 2:
        acc = tl.where(RELU, acc, 0.0)
    tl.store(out + first + tl.arange(0, B), _stepped(acc, LAST, STAGE))


@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        (
            flagged,
            "x=*fp32:16,out=*fp32:16,n=i32,CAUSAL=False,EVEN=False,RELU=False,LAST=False,STAGE=3,BITS=False,B=128",
        ),
        (scaled, "x=*fp32:16,out=*fp32:16,n=i32,factor=fp32,BLOCK=128"),
        (rows_named_elsewhere, "table=*fp32:16,which=*i32:16,result=*fp32:16,width=i32,D=128"),
        (tile, "first=*fp16:16,second=*fp16:16,out=*bf16:16,inner=i32,GROUP=8,M=64,N=64,K=64,WIDE=fp32"),
        (dropped, "x=*fp32:16,out=*fp32:16,p=fp32,seed=i32,SCALE=False,B=128"),
        (copied, "source=tensordesc<fp16[32, 32]>,target=tensordesc<fp16[32, 32]>,R=128"),
    ],
)
def test_a_parameter_is_what_the_body_makes_of_it(kernel: triton.JITFunction, signature: str) -> None:
    found = inferred_signature(kernel)
    assert found.text == signature
    assert ",".join(found.made_up) == signature


@triton.jit
def matmul_by_strides(a, b, c, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, B: tl.constexpr):
    i = tl.arange(0, B)
    a_ptrs, b_ptrs = (
        a + (i[:, None] * stride_am + i[None, :] * stride_ak),
        b + i[:, None] * stride_bk + i[None, :] * stride_bn,
    )
    total = tl.zeros((B, B), tl.float32)
    for _ in range(tl.cdiv(K, B)):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        a_ptrs += B * stride_ak
        b_ptrs += B * stride_bk
    tl.store(c + i[:, None] * stride_cm + i[None, :] * stride_cn, total)


@triton.jit
def _row_of(x, head, stride_h, stride_m, columns):
    return tl.load(x + head * stride_h + tl.program_id(0) * stride_m + columns)


@triton.jit
def rows_of_heads(x, out, stride_xh, stride_xm, stride_out, D: tl.constexpr):
    head, columns = tl.program_id(1), tl.arange(0, D)
    block = tl.make_block_ptr(out, (8, D), (1, stride_out), (0, 0), (1, D), (0, 1))
    tl.store(block, _row_of(x, head, stride_xh, stride_xm, columns)[None, :])


@pytest.mark.parametrize(
    ("kernel", "strides"),
    [
        (matmul_by_strides, {"am": 112, "ak": 1, "bk": 112, "bn": 1, "cm": 112, "cn": 1}),
        (rows_of_heads, {"xh": 112 * 112, "xm": 112, "out": 112}),
    ],
)
def test_strides_are_those_of_rows_one_after_another(kernel: triton.JITFunction, strides: dict[str, int]) -> None:
    assert strides_as_used(kernel) == {f"stride_{name}": value for name, value in strides.items()}
    for name, value in strides.items():
        assert f"stride_{name}={'1' if value == 1 else 'i32:16'}" in inferred_signature(kernel).text.split(",")


def test_the_first_configuration_comes_first() -> None:
    found = inferred_signature(load_kernel(f"{__file__}:tuned"))
    assert found.text == "x=*i32:16,n=i32,BLOCK=256"
    assert found.made_up == ("x=*i32:16", "n=i32")


def test_most_kernels_of_the_corpus_compile_as_they_are_read() -> None:
    """Of every fifth; functions that kernels call, which return something, are no kernels."""
    files = [f for f in sorted(KERNELS.rglob("*.py")) if not {"gluon", "lessons"} & set(f.relative_to(KERNELS).parts)]
    names = [f"{f}:{name}" for f in files for name in re.findall(r"@triton\.jit\ndef ([a-z]\w+)\(", f.read_text())]
    target = GPUTarget("cuda", 90, 32)
    refused: list[str] = []
    for name in names[::5]:
        kernel = load_kernel(name)
        try:
            source = ast_source(kernel, inferred_signature(kernel).text)
            source.make_ir(target, CUDAOptions.for_target(target), make_context())
        except MinitritonError as error:
            if "a kernel returns nothing" not in str(error):
                refused.append(name)
    assert len(names) > 250
    assert len(refused) <= 2, refused
