"""TTGIR as Triton's default pipeline makes it, interpreted: asynchronous copies, tensor-core products, descriptors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from ttgir_programs import assert_case_right, place_memory_and_barriers, signature_of
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation

from minitriton.dialects.text import parse_module
from minitriton.interpreter import InterpreterError, interpret
from minitriton_kernels.cases import CASES, Case, load_kernels

pytestmark = pytest.mark.oracle


def ttgir(kernel: Any, args: list[Any], arch: int = 90, num_warps: int = 4, **constants: Any) -> ModuleOp:
    """What Triton makes of a kernel that is called with `args`; arrays and numbers are divisible by 16 where they say so."""
    signature = signature_of(kernel.arg_names, args, constants)
    given = [name for name in kernel.arg_names if name not in constants]
    divisible = {
        (kernel.arg_names.index(name),): [["tt.divisibility", 16]]
        for name, arg in zip(given, args, strict=True)
        if isinstance(arg, np.ndarray) or (isinstance(arg, int) and arg % 16 == 0)
    }
    source = triton.compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=divisible)
    target = triton.backends.compiler.GPUTarget("cuda", arch, 32)
    compiled = triton.compile(source, target=target, options={"num_warps": num_warps})
    return parse_module(compiled.asm["ttgir"])


def ops(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_example_kernels_give_their_answers(case: Case) -> None:
    args = case.inputs(np.random.default_rng(0))
    kernel = getattr(load_kernels(case.file, "triton"), case.kernel)
    module = ttgir(kernel, args, num_warps=case.num_warps, **case.constexprs)
    assert_case_right(case, module, args)
    assert_case_right(case, place_memory_and_barriers(module), args, barriers_placed=True)


@triton.jit
def softmax(out, x, stride, rows, cols, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=4):  # pyright: ignore[reportGeneralTypeIssues]
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + i, mask=i < cols, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + row * stride + i, e / tl.sum(e, 0), mask=i < cols)


def softmax_arguments() -> list[Any]:
    x = np.random.default_rng(0).standard_normal((23, 208)).astype(np.float32)
    return [np.zeros_like(x), x, 208, 23, 201]


def softmax_module(arch: int) -> ModuleOp:
    module = ttgir(softmax, softmax_arguments(), arch, BLOCK=256)
    assert len(ops(module, "ttg.async_copy_global_to_local")) == 4
    return module


@pytest.mark.parametrize("barriers_placed", [False, True])
@pytest.mark.parametrize("arch", [80, 90])
def test_a_pipelined_softmax_gives_its_answer(arch: int, barriers_placed: bool) -> None:
    module, args = softmax_module(arch), softmax_arguments()
    if barriers_placed:
        place_memory_and_barriers(module)
    interpret(module, "softmax", args, (3,), barriers_placed=barriers_placed)
    e = np.exp(args[1][:, :201])
    np.testing.assert_allclose(args[0][:, :201], e / e.sum(1, keepdims=True), rtol=1e-5)


def test_a_wait_one_group_short_is_found_in_the_softmax() -> None:
    module = softmax_module(90)
    wait = ops(module, "ttg.async_wait")[0]
    pending = wait.properties["num"]
    assert isinstance(pending, IntegerAttr)
    wait.properties["num"] = IntegerAttr(pending.value.data + 1, i32)
    with pytest.raises(InterpreterError, match=r"local_load reads .* while ttg.async_copy_global_to_local") as caught:
        interpret(module, "softmax", softmax_arguments(), (3,))
    assert caught.value.location is not None and caught.value.location.file == __file__


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


def matmul_arguments() -> list[Any]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((128, 160), (160, 128)))
    return [a, b, np.zeros((128, 128), np.float32), 128, 128, 160]


def assert_product(args: list[Any]) -> None:
    a, b = (arg.astype(np.float64) for arg in args[:2])
    np.testing.assert_allclose(args[2], a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("arch", [80, 90])
def test_a_pipelined_matrix_product_gives_its_answer(arch: int) -> None:
    module, args = ttgir(matmul, matmul_arguments(), arch, BM=64, BN=64, BK=32), matmul_arguments()
    interpret(module, "matmul", args, (2, 2))
    assert_product(args)
    args = matmul_arguments()
    interpret(place_memory_and_barriers(module), "matmul", args, (2, 2), barriers_placed=True)
    assert_product(args)


def test_an_observer_can_compare_views_and_unfinished_products_between_runs() -> None:
    module = ttgir(matmul, matmul_arguments(), 90, BM=64, BN=64, BK=32)

    def observed() -> list[str]:
        seen: list[str] = []

        def observer(op: Operation, operands: Any, value: Any) -> Any:
            if op.name in ("ttg.memdesc_index", "ttng.warp_group_dot"):
                seen.append(repr(value))
            return value

        interpret(module, "matmul", matmul_arguments(), observer=observer)
        return seen

    first = observed()
    assert first == observed()
    assert "<float16 view of shape (64, 32) from byte 4096 of its buffer>" in first


def test_a_removed_barrier_is_found_in_the_matrix_product() -> None:
    module = place_memory_and_barriers(ttgir(matmul, matmul_arguments(), 80, BM=64, BN=64, BK=32))
    wait = ops(module, "ttg.async_wait")[0]
    assert wait.next_op is not None and wait.next_op.name == "ttg.local_barrier"
    wait.next_op.detach()
    with pytest.raises(InterpreterError, match=r"local_load reads .* by another warp .* no barrier between"):
        interpret(module, "matmul", matmul_arguments(), (2, 2), barriers_placed=True)


def test_a_product_that_is_not_waited_for_is_found() -> None:
    module = ttgir(matmul, matmul_arguments(), 90, BM=64, BN=64, BK=32)
    last = ops(module, "ttng.warp_group_dot_wait")[-1]
    last.properties["pendings"] = IntegerAttr(1, i32)
    with pytest.raises(
        InterpreterError, match=r"local_dealloc frees memory that ttng.warp_group_dot .* may still read"
    ):
        interpret(module, "matmul", matmul_arguments(), (2, 2))
    for free in ops(module, "ttg.local_dealloc"):
        free.detach()
    with pytest.raises(InterpreterError, match=r"read before a ttng.warp_group_dot_wait"):
        interpret(module, "matmul", matmul_arguments(), (2, 2))


def test_operands_overwritten_while_a_product_reads_them_are_found() -> None:
    module = ttgir(matmul, matmul_arguments(), 90, BM=64, BN=64, BK=32)
    in_loop = ops(module, "ttng.warp_group_dot_wait")[0]
    in_loop.properties["pendings"] = IntegerAttr(3, i32)
    with pytest.raises(InterpreterError, match=r"writes .* while ttng.warp_group_dot .* may still read it"):
        interpret(module, "matmul", matmul_arguments(), (2, 2))


def descriptor_module() -> ModuleOp:
    return ttgir(load_kernels("matrix", "triton").by_descriptors, matmul_arguments(), 90, BM=64, BN=64, BK=32)


def interpret_descriptors(module: ModuleOp, **options: Any) -> list[Any]:
    args = matmul_arguments()
    interpret(module, "by_descriptors", args, (2, 2), **options)
    return args


def test_a_matrix_product_through_tensor_copies_gives_its_answer() -> None:
    module = descriptor_module()
    assert len(ops(module, "ttng.async_tma_copy_global_to_local")) == 6
    assert_product(interpret_descriptors(module))
    assert_product(interpret_descriptors(place_memory_and_barriers(module), barriers_placed=True))


def test_a_tensor_copy_that_nobody_waits_for_is_found() -> None:
    module = descriptor_module()
    ops(module, "ttng.wait_barrier")[0].detach()
    with pytest.raises(InterpreterError, match=r"warp_group_dot reads .* while ttng.async_tma_copy_global_to_local"):
        interpret_descriptors(module)


def test_a_wrong_number_of_expected_bytes_is_a_wait_for_ever() -> None:
    module = descriptor_module()
    ops(module, "ttng.barrier_expect")[0].properties["size"] = IntegerAttr(8192 + 16, i32)
    with pytest.raises(InterpreterError, match=r"waits for ever: .* 1 of 1 have arrived and 16 bytes are missing"):
        interpret_descriptors(module)


def test_a_barrier_that_is_not_initialised_is_found() -> None:
    module = descriptor_module()
    ops(module, "ttng.init_barrier")[1].detach()
    with pytest.raises(InterpreterError, match=r"uses a barrier that is not initialised"):
        interpret_descriptors(module)
