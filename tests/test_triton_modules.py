"""Names of Triton that host code imports from odd places: the extension module, backends, Gluon's descriptors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton._C.libtriton import ir, native_specialize_impl
from minitriton.backends.amd.compiler import HIPBackend
from minitriton.backends.compiler import BaseBackend, GPUTarget, make_backend
from minitriton.backends.nvidia.compiler import CUDABackend, min_dot_size
from minitriton.errors import MinitritonError
from minitriton.experimental.gluon.language._layouts import NVMMASharedLayout
from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor
from minitriton.language import standard
from minitriton.language.core import is_builtin
from minitriton.language.extra import cuda
from minitriton.language.extra.cuda import gdc
from minitriton.language.extra.cuda import utils as cuda_utils
from minitriton.runtime.interpreter import InterpretedFunction
from minitriton.runtime.jit import MockTensor


@pytest.mark.parametrize("backend", [BaseBackend, CUDABackend, HIPBackend])
@pytest.mark.parametrize(
    ("value", "align", "expected"),
    [(48, True, ("i32", "D")), (48, False, ("i32", "")), (1, True, ("constexpr", 1)), (2.5, True, ("fp32", None))],
)
def test_numbers_are_specialised_alike_by_every_backend(backend, value, align, expected) -> None:
    assert native_specialize_impl(backend, value, False, True, align) == expected


def test_a_backend_with_a_key_of_its_own_is_asked() -> None:
    tensor = MockTensor("float32")
    assert native_specialize_impl(CUDABackend, tensor, False, True, True) == ("*fp32", "D")
    assert native_specialize_impl(HIPBackend, tensor, True, True, True) == ("*kfp32", "DS")
    assert native_specialize_impl(HIPBackend, tensor, False, False, True) == ("*fp32", None)


def test_what_no_kernel_takes_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="failed to specialize argument of type object"):
        native_specialize_impl(CUDABackend, object(), False, True, True)


def test_keys_mean_attributes() -> None:
    assert make_backend(GPUTarget("cuda", 90, 32)).parse_attr("D") == [["tt.divisibility", 16]]
    assert BaseBackend.parse_attr("") == []


def test_a_context_of_the_extension_reads_triton_s_dialects() -> None:
    context = ir.context()
    ir.load_dialects(context)
    assert context.get_optional_op("tt.load") is not None


def gluon_descriptor(layout: NVMMASharedLayout) -> TensorDescriptor:
    dtype = type("dtype", (), {"itemsize": 2, "is_floating_point": True, "__str__": lambda self: "float16"})()
    tensor = SimpleNamespace(dtype=dtype, data_ptr=lambda: 256, shape=[64, 64], stride=lambda: [64, 1])
    return TensorDescriptor.from_tensor(tensor, [16, 64], layout)


def test_the_type_of_a_gluon_descriptor_names_its_layout() -> None:
    layout = NVMMASharedLayout(128, 16)
    kind, key = native_specialize_impl(CUDABackend, gluon_descriptor(layout), False, True, True)
    assert (kind, key) == (f"tensordesc<fp16[16, 64],{layout!r}>", None)


@pytest.mark.parametrize("wrong", [{"swizzle_byte_width": 48}, {"element_bitwidth": 12}, {"cga_layout": [[1]]}])
def test_layouts_that_no_hardware_has_are_refused(wrong) -> None:
    with pytest.raises(MinitritonError):
        NVMMASharedLayout(**{"swizzle_byte_width": 128, "element_bitwidth": 16, **wrong})


@triton.jit
def timed(out):
    tl.store(out, cuda_utils.num_warps() + 100 * cuda.num_threads())


def test_what_a_device_has_beyond_the_language_is_found_in_both_of_its_modules() -> None:
    out = np.zeros(1, np.int32)
    timed[(1,)](out, num_warps=2)
    assert out[0] == 2 + 100 * 64
    assert cuda.gdc_wait is gdc.gdc_wait and is_builtin(gdc.gdc_launch_dependents) and not is_builtin(timed)


def test_sorting_is_found_where_triton_has_it() -> None:
    assert standard.sort is tl.sort and standard.flip is tl.flip and callable(standard.topk)
    with pytest.raises(AttributeError):
        _ = standard.no_such_name


@triton.jit
def narrow(x, out):
    small = cuda_utils.convert_custom_float8_sm80(tl.load(x + tl.arange(0, 4)), tl.float8e4b15)
    tl.store(out + tl.arange(0, 4), cuda.convert_custom_float8_sm80(small, tl.float32))


def test_casts_by_name_are_casts() -> None:
    values, out = np.array([0.5, -1.25, 0.015625, 1.75], np.float32), np.zeros(4, np.float32)
    narrow[(1,)](values, out)
    assert (out == values).all()


def test_an_interpreted_function_runs_on_the_interpreter() -> None:
    out = np.zeros(1, np.int32)
    kernel = InterpretedFunction(timed.fn)
    assert kernel.is_interpreted() and not timed.is_interpreted() and not kernel.is_gluon()
    kernel[(1,)](out, num_warps=4)
    assert out[0] == 4 + 100 * 128


def test_a_backend_names_its_target() -> None:
    backend = make_backend(GPUTarget("cuda", 90, 32))
    assert backend.get_target_name(backend.parse_options({})) == "cuda:90"
    assert backend.pack_metadata(SimpleNamespace(num_warps=4, num_ctas=1, shared=0)) == (4, 1, 0)
    with pytest.raises(NotImplementedError):
        BaseBackend(GPUTarget("cuda", 90, 32)).parse_options({})


@pytest.mark.parametrize(
    ("operand", "least_k"), [(tl.float8e4nv, 32), (tl.int8, 32), (tl.float16, 16), (tl.float32, 16)]
)
def test_the_least_dot_is_told_by_the_types_of_its_operands(operand, least_k) -> None:
    least = min_dot_size(GPUTarget("cuda", 90, 32))
    assert least(operand, tl.block_type(operand, [16, 16])) == (1, 1, least_k)


def test_operands_of_different_widths_have_no_least_dot() -> None:
    with pytest.raises(TypeError, match="bitwidth must be the same"):
        min_dot_size(GPUTarget("cuda", 90, 32))(tl.float16, tl.float32)
