"""Names of Triton that host code imports from odd places: the extension module, backends, Gluon's descriptors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from minitriton._C.libtriton import ir, native_specialize_impl
from minitriton.backends.amd.compiler import HIPBackend
from minitriton.backends.compiler import BaseBackend, GPUTarget, make_backend
from minitriton.backends.nvidia.compiler import CUDABackend
from minitriton.errors import MinitritonError
from minitriton.experimental.gluon.language._layouts import NVMMASharedLayout
from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor
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
