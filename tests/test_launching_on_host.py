"""`kernel[grid](...)` and `warmup` without a GPU: host arrays of any library are run on the CPU, other arrays reach the launcher."""

import copy
import gc
import pickle
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.errors import MinitritonError
from minitriton.lab.arguments import Arguments
from minitriton.lab.checker import check
from minitriton.pipeline.pass_manager import PassManager
from minitriton.runtime.jit import JITFunction


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=mask) * factor, mask=mask)


class CpuTensor:
    """A torch tensor in host memory, as far as a launch asks."""

    is_cuda = False
    device = SimpleNamespace(type="cpu", index=None)

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype = array, f"torch.{array.dtype}"

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def element_size(self) -> int:
        return self.array.itemsize

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)


class HostDLPack:
    """An array in host memory of a library that speaks DLPack only."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class DeviceDLPack(HostDLPack):
    """An array that claims to lie on a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class CudaArray:
    """An array of a library with the CUDA array interface, such as CuPy."""

    def __init__(self, array: np.ndarray) -> None:
        self.dtype = array.dtype
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.ctypes.data, False),
            "typestr": array.dtype.str,
            "shape": array.shape,
            "version": 3,
        }


class Launched:
    """The driver and the loaded kernel: notes what would be launched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernels: list[Any] = []
        self.calls: list[tuple[Any, ...]] = []
        driver = SimpleNamespace(target=lambda device: triton.target.GPUTarget("cuda", 90))
        monkeypatch.setattr("minitriton.runtime.jit.get_driver", lambda: driver)
        monkeypatch.setattr("minitriton.runtime.jit.current_stream", lambda: (0, 7))
        monkeypatch.setattr(
            "minitriton.runtime.launching.dispatch.stream_functions", lambda: (lambda: 0, lambda device: 7)
        )
        monkeypatch.setattr("minitriton.compiler.CompiledKernel.run", property(self._launcher))
        monkeypatch.setattr("minitriton.compiler.CompiledKernel.loaded", lambda kernel: self._launcher(kernel))

    def _launcher(self, kernel: Any) -> Any:
        self.kernels.append(kernel)

        def positional(compiled_in: tuple[int, ...]) -> Any:
            def launch(x: int, y: int, z: int, stream: int, *values: Any) -> int:
                self.calls.append((x, y, z, stream, values))
                return 0

            return launch

        def launch(x: int, y: int, z: int, stream: int, values: Any) -> None:
            self.calls.append((x, y, z, stream, values))

        return SimpleNamespace(positional=positional, launch=launch, check=None)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    return Launched(monkeypatch)


def fresh(kernel: JITFunction) -> JITFunction:
    """The same kernel without anything that it remembers of earlier launches."""
    return triton.jit(kernel.fn)


@pytest.fixture(params=["emulator", "interpreter"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Launches run on this."""
    monkeypatch.setenv("MINITRITON_INTERPRET", "1" if request.param == "interpreter" else "0")
    return request.param


@pytest.mark.parametrize("wrap", [lambda a: a, CpuTensor, HostDLPack], ids=["numpy", "cpu tensor", "dlpack"])
def test_kernels_run_on_host_arrays(wrap: Any, level: str) -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, dtype=np.float32)
    fresh(scale)[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](wrap(x), wrap(y), 100, 3.0, BLOCK=32)
    np.testing.assert_array_equal(y, x * 3)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float16", "float32", "float64"])
def test_kernels_run_on_host_arrays_of_each_type(dtype: str, level: str) -> None:
    x, y = np.arange(20).astype(dtype), np.zeros(20, dtype=dtype)
    fresh(scale)[(1,)](x, y, 20, 2, BLOCK=32)
    np.testing.assert_array_equal(y, x * 2)


@triton.jit(repr=lambda specialization: f"scale_{specialization.constants['BLOCK']}")
def renamed(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) * 2)


def test_a_kernel_that_names_itself_runs(level: str) -> None:
    x = np.ones(16, np.float32)
    renamed[(1,)](x, BLOCK=16)
    assert x.tolist() == [2] * 16


def test_a_kernel_that_names_itself_is_checked_after_each_pass() -> None:
    source = ASTSource(renamed, {"x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 16})
    assert (source.name, source.entry) == ("renamed", "scale_16")
    assert check(source, Arguments([np.ones(16, np.float32)], ["fp32"]), (1,)).ok


def test_a_host_array_next_to_a_device_array_is_refused(level: str) -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(
        MinitritonError, match=f"the {level} takes arrays in host memory, and this launch mixes them with device arrays"
    ):
        fresh(scale)[(1,)](x, CudaArray(x), 4, 1.0, BLOCK=4)


@pytest.mark.parametrize("wrap", [CudaArray, DeviceDLPack], ids=["cuda array interface", "dlpack"])
def test_device_arrays_of_any_library_reach_the_launcher(launched: Launched, wrap: Any) -> None:
    x, y = np.zeros(64, np.float16), np.zeros(64, np.float16)
    kernel = fresh(scale)
    for _ in range(2):
        kernel[(2, 3)](wrap(x), wrap(y), 64, 1.5, BLOCK=32)
    passed = (x.ctypes.data, y.ctypes.data, 64, 1.5)
    assert launched.calls == [(2, 3, 1, 7, passed)] * 2
    assert "%x: !tt.ptr<f16>" in launched.kernels[0].asm["ttir"]


def test_warmup_compiles_for_arrays_and_for_dtypes_that_stand_for_them() -> None:
    x = np.zeros(16, np.float32)
    by_array = fresh(scale).warmup(x, x, 16, 1.0, BLOCK=16, grid=(1,))
    by_dtype = fresh(scale).warmup(np.dtype("float32"), tl.float32, 16, 1.0, BLOCK=16, grid=(1,))
    assert by_array.asm["ptx"] == by_dtype.asm["ptx"]
    assert ".visible .entry scale(" in by_array.asm["ptx"]


def test_warmup_takes_options_and_a_second_one_is_the_same_kernel() -> None:
    kernel = fresh(scale)
    first = kernel.warmup(tl.float32, tl.float32, 16, 1.0, BLOCK=16, grid=(1,), num_warps=2)
    assert first.metadata.num_warps == 2
    assert kernel.warmup(tl.float32, tl.float32, 32, 1.0, BLOCK=16, grid=(1,), num_warps=2) is first
    assert kernel.warmup(tl.float32, tl.float32, 7, 1.0, BLOCK=16, grid=(1,), num_warps=2) is not first


def test_without_a_driver_a_device_array_says_what_to_do() -> None:
    if triton.runtime.driver.has_gpu():
        pytest.skip("this machine has a GPU")
    x = np.zeros(4, np.float32)
    with pytest.raises(MinitritonError, match="pass NumPy arrays"):
        fresh(scale)[(1,)](CudaArray(x), CudaArray(x), 4, 1.0, BLOCK=4)


@pytest.mark.parametrize("argument", ["text", [1], object()], ids=["str", "list", "object"])
def test_what_is_no_argument_is_refused_by_its_parameter(argument: Any) -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(MinitritonError, match="parameter 'n' of kernel 'scale'"):
        fresh(scale)[(1,)](x, x, argument, 1.0, BLOCK=4)


def test_a_launch_on_the_interpreter_returns_the_kernel_compiled_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    x = np.zeros(8, np.float32)
    with monkeypatch.context() as launching:
        launching.setattr(PassManager, "run", lambda *_: pytest.fail("the launch compiles"))
        kernel = fresh(scale)[(1,)](x, x, 8, 2.0, BLOCK=8)
        assert kernel.last_report is None and copy.deepcopy(kernel).last_report is None
    assert ".entry scale" in pickle.loads(pickle.dumps(kernel)).asm["ptx"] and kernel.metadata.num_warps == 4


@pytest.mark.parametrize("variable", ["TRITON_INTERPRET", "MINITRITON_INTERPRET"])
def test_the_environment_sends_every_launch_to_the_interpreter(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, dtype=np.float32)
    fresh(scale)[(1,)](x, y, 8, 2.0, BLOCK=8)
    np.testing.assert_array_equal(y, x * 2)
    with pytest.raises(MinitritonError, match="the interpreter takes arrays in host memory"):
        fresh(scale)[(1,)](CudaArray(x), CudaArray(y), 8, 2.0, BLOCK=8)


def test_the_interpreter_runs_the_kernel_as_written_before_any_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(PassManager, "run", lambda *_: pytest.fail("a pass takes part"))
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, dtype=np.float32)
    fresh(scale)[(1,)](x, y, 8, 2.0, BLOCK=8)
    np.testing.assert_array_equal(y, x * 2)


def test_importing_minitriton_needs_nothing_but_itself(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import sys
        import minitriton
        print(sorted(m for m in ("xdsl", "llvmlite", "numpy", "torch", "triton") if m in sys.modules))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


DEFINES_KERNELS = """
import sys
import PACKAGE as triton
import PACKAGE.language as tl
from PACKAGE.language.extra import libdevice

@triton.jit
def first(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1)

@triton.autotune(configs=[triton.Config({"BLOCK": 16})], key=[])
@triton.heuristics({"EVEN": lambda args: True})
@triton.jit
def second(x, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1)

heavy = ("xdsl", "llvmlite", "numpy", "torch", "minitriton.passes", "minitriton.emulator.machine")
print([module for module in heavy if module in sys.modules])
"""


@pytest.mark.parametrize(("package", "way"), [("minitriton", []), ("triton", ["-m", "minitriton.run_as_triton"])])
def test_a_program_that_only_defines_kernels_imports_no_compiler(package: str, way: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(DEFINES_KERNELS.replace("PACKAGE", package))
    way = [*way, "program.py"]
    done = subprocess.run([sys.executable, *way], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@triton.jit
def asserts(x):
    tl.device_assert(tl.load(x) == 1, "x is one")


def test_assertions_hold_in_debug_mode_on_both_levels(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two = np.full(1, 2, np.int32)
    fresh(asserts)[(1,)](two)
    with pytest.raises(MinitritonError, match="x is one"):
        fresh(asserts)[(1,)](two, debug=True)
    monkeypatch.setattr(triton.knobs.runtime, "debug", True)
    with pytest.raises(MinitritonError, match="x is one"):
        fresh(asserts)[(1,)](two)


@triton.jit
def scaled(x_ptr, stride, n, pair, extra, BLOCK: tl.constexpr, SCALE: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * stride, mask=offsets < n, other=0.0)
    tl.store(x_ptr + offsets * stride, x * SCALE + pair[0] + pair[1], mask=offsets < n)


def test_a_compiled_kernel_takes_its_arguments_with_and_without_those_compiled_in() -> None:
    x = np.arange(8, dtype=np.float32)
    compiled = scaled.warmup(x, 1, 8, (3, 1), None, BLOCK=8, SCALE=2, grid=(1,))
    everything = (x, 1, 8, (3, 1), None, 8, 2)
    for args in (everything, everything[:5], (x, 8, (3, 1)), (x, 8, 3)):
        x[:] = np.arange(8)
        compiled[(1,)](*args)
        np.testing.assert_array_equal(x, np.arange(8) * 2 + 4)
    with pytest.raises(MinitritonError, match=r"takes 5 arguments \(x_ptr, stride, n, pair, extra\), got 1"):
        compiled[(1,)](x)


def test_a_launch_lets_go_of_its_arrays_without_the_garbage_collector() -> None:
    x = np.ones(128, np.float32)
    gc.collect()
    gc.disable()
    try:
        scale[(1,)](x, x, 128, 2.0, BLOCK=128)
        gone = weakref.ref(x)
        del x
        assert gone() is None
    finally:
        gc.enable()


def test_the_first_launch_of_a_process_lets_go_of_its_arrays_too(tmp_path: Path) -> None:
    program = tmp_path / "first_launch.py"
    program.write_text(
        textwrap.dedent(
            """
            import gc, weakref
            import numpy as np
            import minitriton as triton
            import minitriton.language as tl

            @triton.jit
            def double(x, BLOCK: tl.constexpr):
                at = x + tl.arange(0, BLOCK)
                tl.store(at, tl.load(at) * 2)

            x = np.ones(128, np.float32)
            gone = weakref.ref(x)
            gc.disable()
            double[(1,)](x, BLOCK=128)
            del x
            assert gone() is None, gc.get_referrers(gone())
            """
        )
    )
    subprocess.run([sys.executable, str(program)], check=True)


class View(CpuTensor):
    """A tensor of torch that is a part of another's memory."""

    def __init__(self, whole: np.ndarray, part: slice) -> None:
        super().__init__(whole[part])
        self.whole = whole

    def untyped_storage(self) -> SimpleNamespace:
        return SimpleNamespace(data_ptr=lambda: self.whole.ctypes.data, nbytes=lambda: self.whole.nbytes)


@triton.jit
def count_up(counts, N: tl.constexpr):
    tl.atomic_add(counts + tl.arange(0, N), 1)


@pytest.mark.parametrize("interpret", [False, True])
def test_a_kernel_reaches_the_padding_that_a_view_of_torch_leaves_out(interpret, monkeypatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", str(int(interpret)))
    whole = np.zeros(40, np.int32)
    count_up[(1,)](View(whole, slice(4, 13)), N=32)
    assert whole.tolist() == [0] * 4 + [1] * 32 + [0] * 4
    with pytest.raises(MinitritonError, match="bytes"):
        count_up[(1,)](View(whole, slice(12, 13)), N=32)


class Swizzled(CpuTensor):
    """A program's own tensor: its shape is what it means, its strides are those of the bytes that it keeps."""

    def __init__(self, stored: View, shape: tuple[int, ...]) -> None:
        self.storage, self.dtype, self.meant = SimpleNamespace(data=stored), stored.dtype, shape

    def data_ptr(self) -> int:
        return self.storage.data.data_ptr()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.meant

    def element_size(self) -> int:
        return self.storage.data.element_size()

    def stride(self) -> tuple[int, ...]:
        return self.storage.data.stride()


def test_an_object_that_keeps_a_tensor_is_as_large_as_that() -> None:
    whole = np.zeros(40, np.int32)
    count_up[(1,)](Swizzled(View(whole, slice(8, 40)), (100_000,)), N=32)
    assert whole.tolist() == [0] * 8 + [1] * 32
    with pytest.raises(MinitritonError, match="bytes"):
        count_up[(1,)](Swizzled(View(whole, slice(9, 40)), (100_000,)), N=32)


class Storage:
    """Bytes of a tensor of torch."""

    def __init__(self, bytes_: np.ndarray) -> None:
        self.bytes = bytes_

    def data_ptr(self) -> int:
        return self.bytes.ctypes.data

    def nbytes(self) -> int:
        return self.bytes.nbytes

    def cpu(self) -> "Storage":
        return Storage(self.bytes.copy())

    def copy_(self, other: "Storage") -> None:
        self.bytes[:] = other.bytes


class GpuTensor(CpuTensor):
    """A tensor of torch on a GPU, or made from one in host memory."""

    is_cuda, device = True, SimpleNamespace(type="cuda", index=0)

    def set_(self, storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> CpuTensor:
        words = storage.bytes.view(self.array.dtype)[offset:]
        host = CpuTensor(np.lib.stride_tricks.as_strided(words, size, [s * 4 for s in stride]))
        host.untyped_storage = lambda: storage
        return host

    def untyped_storage(self) -> Storage:
        return Storage(self.array.base)

    def storage_offset(self) -> int:
        return (self.array.ctypes.data - self.array.base.ctypes.data) // 4

    def size(self) -> tuple[int, ...]:
        return self.array.shape


def test_the_interpreter_copies_tensors_of_a_gpu_and_brings_results_back(monkeypatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    made = SimpleNamespace(Tensor=GpuTensor, empty=lambda _, dtype: GpuTensor(np.empty(0, np.float32)))
    monkeypatch.setattr("minitriton.runtime.on_cpu.interpretation.torch_module", lambda: made)
    bytes_ = np.arange(32, dtype=np.float32).view(np.uint8)
    words = bytes_.view(np.float32)
    x, y = (GpuTensor(np.ndarray((16,), np.float32, bytes_, at)) for at in (0, 64))
    triton.jit(scale.fn)[(2,)](x, y, 16, 2.0, BLOCK=8)
    assert words.tolist() == [*range(16), *range(0, 32, 2)]
