"""`run_as_triton --cpu`, and the options of the pytest plugin: programs for a GPU on a machine without one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from minitriton.runtime.driver import has_gpu

pytestmark = pytest.mark.skipif(has_gpu(), reason="there is a GPU")

KERNEL = textwrap.dedent("""
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
""")

TORCH_PROGRAM = KERNEL + textwrap.dedent("""
    import torch

    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    torch.manual_seed(0)
    x, y = torch.rand(1000, device="cuda"), torch.rand(1000).cuda()
    out = torch.empty_like(x, device=torch.device("cuda", 0))
    assert x.is_cuda and out.is_cuda
    kept = y.cpu()
    add[(8,)](x, y, out, 1000, BLOCK=128)
    torch.cuda.synchronize()
    assert torch.equal(out.to("cuda"), x + kept)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(torch.cuda.Stream()):
        start.record()
        end.record()
    assert start.elapsed_time(end) == 0
    assert torch.cuda.get_device_capability() == (9, 0)
    state = torch.cuda.get_rng_state("cuda")
    drawn = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state, "cuda")
    assert torch.equal(drawn, torch.rand(3))
    import torch._dynamo  # reads torch's functions by their names: one that has two names is an error there
    print("ran on", x.device, torch.randn(2, generator=torch.Generator(device="cuda").manual_seed(1), device="cuda").shape)
""")

HABITS = textwrap.dedent("""
    import torch
    from minitriton.errors import MinitritonError

    one = torch.ones(3, device=0)
    one.record_stream(torch.cuda.current_stream())
    assert one.to(0).is_cuda and one.cuda(0).is_cuda and torch.ones(3).pin_memory().to(torch.cuda.current_device()).is_cuda
    assert isinstance(one, torch.cuda.FloatTensor) and torch.cuda.IntTensor(3).is_cuda
    assert torch.cuda.memory_summary() == "" and torch.cuda.utilization() == 0
    assert torch._C._cuda_getCurrentRawStream(0) == torch._C._cuda_getDevice() == 0
    assert torch.cuda.get_device_properties(0).shared_memory_per_block == 48 << 10
    assert torch.empty(3, pin_memory=True).shape == one.to("cpu", copy=True).shape and torch.ones(3).to(device=0).sum() == 3
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda
    a = torch.rand(4, 4, device="cuda")
    assert not torch.is_autocast_enabled()
    for cast in (torch.autocast("cuda"), torch.amp.autocast("cuda", enabled=True), torch.autocast(device_type="cuda", dtype=torch.bfloat16)):
        with cast:
            kind = torch.get_autocast_dtype("cuda")
            assert (a @ a).dtype == kind == torch.get_autocast_gpu_dtype() and torch.is_autocast_enabled("cuda"), kind
            with torch.autocast("cuda", enabled=False):
                assert (a @ a).dtype == torch.float32
    assert kind == torch.bfloat16 and (a @ a).dtype == torch.float32

    class Twice(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, grad):
            return grad * 2

    x = torch.rand(4, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        y = Twice.apply(x)
    assert y.dtype == torch.float16, y.dtype
    y.sum().backward()
    assert (x.grad == 2).all()
    for graph in (torch.cuda.CUDAGraph, torch.cuda.graph):
        try:
            graph()
            raise AssertionError
        except MinitritonError as error:
            assert "CUDA graphs need a GPU" in str(error)
    print("as on a GPU")
""")

PART = KERNEL + textwrap.dedent("""
    import warnings
    import numpy as np
    from minitriton import knobs

    x, out = np.ones(128 * 1000, np.float32), np.zeros(128 * 1000, np.float32)

    def timed(programs):
        out[:] = 0
        with knobs.emulator.scope(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            knobs.emulator.timed_programs = programs
            found = triton.testing.do_bench(lambda: add[(1000,)](x, x, out, out.size, BLOCK=128))
        return found, int(out.sum()) // 256, [str(w.message) for w in warned]

    few, ran, warned = timed(64)
    assert ran == 64 and out[0] == out[-1] == 2 and "TIMED_PROGRAMS=0" in warned[0], (ran, warned)
    everything, ran, warned = timed(0)
    assert ran == 1000 and not warned and few == everything, (few, everything, warned)
    add[(1000,)](x, x, out, out.size, BLOCK=128)
    assert (out == 2).all()
    assert triton.runtime.driver.active.utils.get_device_properties(0)["multiprocessor_count"] == 132
    print("as long", few)
""")

WAITING = textwrap.dedent("""
    import numpy as np
    import triton
    import triton.language as tl
    from minitriton import knobs

    @triton.jit
    def in_turn(turn, out):
        me = tl.program_id(0)
        while tl.atomic_cas(turn, me, me, sem="acquire") != me:
            pass
        tl.store(out + me, me + 1)
        tl.atomic_add(turn, 1, sem="release")

    turn, out = np.zeros(1, np.int32), np.zeros(12, np.int32)
    knobs.emulator.timed_programs = 4
    triton.testing.do_bench(lambda: in_turn[(12,)](turn, out, num_warps=1))
    assert (out == np.arange(1, 13)).all() and turn[0] == 12, (turn, out)
    print("all ran")
""")

TIMED = KERNEL + textwrap.dedent("""
    import numpy as np

    @triton.testing.perf_report(triton.testing.Benchmark(
        x_names=["n"], x_vals=[1000, 4000], line_arg="provider", line_vals=["triton"], line_names=["Triton"], ylabel="ms", plot_name="times", args={}))
    def sweep(n, provider):
        x, out = np.ones(n, np.float32), np.zeros(n, np.float32)
        return triton.testing.do_bench(lambda: add[(triton.cdiv(n, 128),)](x, x, out, n, BLOCK=128), quantiles=[0.5, 0.2, 0.8])

    sweep.run(print_data=True)
    x, out = np.ones(4000, np.float32), np.zeros(4000, np.float32)
    few = triton.testing.do_bench(lambda: add[(1,)](x, x, out, 4000, BLOCK=128))
    many = triton.testing.do_bench(lambda: add[(32,)](x, x, out, 4000, BLOCK=128))
    assert 0 < few < many, (few, many)
""")

TESTS = """
import numpy as np
import triton
from program import add

def test_add():
    assert triton.__name__ == "minitriton"
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    add[(1,)](x, x, out, 100, BLOCK=128)
    assert out.sum() == 200
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "MINITRITON_EMULATOR_CHECK"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env=environment)


def test_a_torch_program_for_cuda_runs_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(TORCH_PROGRAM)
    done = python(tmp_path, "-m", "minitriton.run_as_triton", "--cpu", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ran on cpu torch.Size([2])\n"


def test_devices_by_number_pinned_memory_and_autocast_are_taken_as_on_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(HABITS)
    done = python(tmp_path, "-m", "minitriton.run_as_triton", "--cpu", "program.py")
    assert done.stdout == "as on a GPU\n", done.stderr


def test_benchmarks_answer_with_the_emulators_estimate(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TIMED)
    done = python(tmp_path, "-m", "minitriton.run_as_triton", "--cpu", "program.py")
    assert done.returncode == 0, done.stderr
    assert "times:" in done.stdout
    assert "4000" in done.stdout


@pytest.mark.parametrize(
    "program, said", [(PART, "as long"), (WAITING, "all ran")], ids=["spread", "waiting for each other"]
)
def test_where_only_its_time_is_asked_for_a_large_launch_runs_in_part(program: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program)
    done = python(tmp_path, "-m", "minitriton.run_as_triton", "--cpu", "program.py")
    assert said in done.stdout, done.stdout + done.stderr


PEAKS = textwrap.dedent("""
    import triton
    from triton.testing import get_dram_gbps, get_max_simd_tflops, get_max_tensorcore_tflops, nvsmi

    clock = nvsmi(["clocks.max.sm"])[0] * 1e3
    print(round(get_dram_gbps()), round(get_max_tensorcore_tflops("float16", clock)), round(get_max_simd_tflops("float32", clock)))
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    print(properties["sm_clock_rate"], properties["mem_clock_rate"], properties["mem_bus_width"])
""")


def test_peaks_are_those_of_the_gpu_whose_times_are_estimated(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PEAKS)
    done = python(tmp_path, "-m", "minitriton.run_as_triton", "--cpu", "program.py")
    assert done.stdout == "3352 474 30\n1755000 2619000 5120\n", done.stderr


def test_without_the_option_there_is_nothing_to_time_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TIMED)
    done = python(tmp_path, "-m", "minitriton.run_as_triton", "program.py")
    assert "do_bench times kernels on a GPU, and there is none" in done.stderr


@pytest.mark.parametrize("option", ["--as-triton", "--triton-cpu"])
def test_plain_pytest_runs_tests_written_for_triton(option: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(KERNEL)
    (tmp_path / "test_program.py").write_text(TESTS)
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", option)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
