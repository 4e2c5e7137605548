"""Launching on a GPU: every kind of array, streams, threads, specialisation, and failures that name the kernel."""

import os
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError

torch = pytest.importorskip("torch")


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


def torch_arrays(n: int = 1000) -> tuple[Any, Any, Any]:
    return torch.randn(n, device="cuda"), torch.randn(n, device="cuda"), torch.zeros(n, device="cuda")


def grid(n: int) -> tuple[int]:
    return (triton.cdiv(n, 128),)


def test_cupy_arrays() -> None:
    cupy = pytest.importorskip("cupy")
    x, y = cupy.random.rand(1000, dtype=cupy.float32), cupy.random.rand(1000, dtype=cupy.float32)
    out = cupy.zeros_like(x)
    add[grid(1000)](x, y, out, 1000, BLOCK=128)
    cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(out), cupy.asnumpy(x + y))


def test_anything_with_a_cuda_array_interface() -> None:
    class Array:
        def __init__(self, tensor: Any) -> None:
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    x, y, out = torch_arrays()
    add[grid(1000)](Array(x), Array(y), Array(out), 1000, BLOCK=128)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_anything_with_dlpack() -> None:
    class Array:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self, **options: Any) -> Any:
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

    x, y, out = torch_arrays()
    add[grid(1000)](Array(x), Array(y), Array(out), 1000, BLOCK=128)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_a_grid_function_and_a_kernel_that_is_returned() -> None:
    x, y, out = torch_arrays()
    kernel = add[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    assert kernel.n_regs > 0
    assert ".entry add" in kernel.asm["ptx"]


@pytest.mark.parametrize("n", [1, 16, 999, 1000])
def test_numbers_that_are_specialised_on(n: int) -> None:
    x, y, out = torch_arrays()
    add[grid(1000)](x, y, out, n, BLOCK=128)
    torch.testing.assert_close(out[:n], (x + y)[:n], rtol=0, atol=0)
    assert not out[n:].any()


def test_addresses_that_are_not_aligned() -> None:
    x, y, out = torch_arrays()
    add[grid(999)](x[1:], y[1:], out[1:], 999, BLOCK=128)
    torch.testing.assert_close(out[1:], (x + y)[1:], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8"])
def test_element_types(dtype: str) -> None:
    kind = getattr(torch, dtype)
    x, y = (torch.randint(0, 50, (1000,), device="cuda").to(kind) for _ in range(2))
    out = torch.zeros_like(x)
    add[grid(1000)](x, y, out, 1000, BLOCK=128)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_launches_go_to_the_current_stream() -> None:
    x, y, out = torch_arrays(1 << 20)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20):
            add[grid(1 << 20)](x, y, x, 1 << 20, BLOCK=128)
        out.copy_(x)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(out, x)


def test_launches_from_many_threads() -> None:
    arrays = [torch_arrays() for _ in range(8)]

    def launch(x: Any, y: Any, out: Any) -> None:
        for _ in range(50):
            add[grid(1000)](x, y, out, 1000, BLOCK=128)

    threads = [threading.Thread(target=launch, args=a) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    for x, y, out in arrays:
        torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_a_host_array_among_device_arrays_is_refused() -> None:
    x, y, out = torch_arrays()
    with pytest.raises(MinitritonError, match="host memory"):
        add[grid(1000)](x, y.cpu(), out, 1000, BLOCK=128)


def test_a_forgotten_cpu_tensor_is_refused_and_numpy_arrays_are_emulated() -> None:
    x, y = torch.randn(1000), torch.randn(1000)
    out = torch.zeros(1000)
    with pytest.raises(ValueError, match="is a CPU tensor"):
        add[grid(1000)](x, y, out, 1000, BLOCK=128)
    add[grid(1000)](x.numpy(), y.numpy(), out.numpy(), 1000, BLOCK=128)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)


def test_a_kernel_that_fails_on_the_device_is_named() -> None:
    program = textwrap.dedent("""
        import torch, minitriton as triton, minitriton.language as tl
        from kernel import wild_store
        wild_store[(1,)](torch.zeros(4, device="cuda"), BLOCK=32)
    """)
    kernel = textwrap.dedent("""
        import minitriton as triton, minitriton.language as tl
        @triton.jit
        def wild_store(x_ptr, BLOCK: tl.constexpr):
            tl.store(x_ptr + (1 << 42) + tl.arange(0, BLOCK).to(tl.int64), 1.0)
    """)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.py").write_text(kernel)
        environment = {**os.environ, "CUDA_LAUNCH_BLOCKING": "1", "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    assert "wild_store" in done.stderr.splitlines()[-1] or "kernel 'wild_store'" in done.stderr


def test_a_cubin_from_either_assembler_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, out = torch_arrays()
    for assembler in ("nvjitlink", "driver"):
        monkeypatch.setenv("MINITRITON_ASSEMBLER", assembler)
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
        fresh = triton.jit(add.fn)
        out.zero_()
        fresh[grid(1000)](x, y, out, 1000, BLOCK=128)
        torch.testing.assert_close(out, x + y, rtol=0, atol=0)
