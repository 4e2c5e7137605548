"""The C types in which a kernel's parameters are passed: `*fp32` is `CUdeviceptr`, `i32` is `int32_t`."""

from __future__ import annotations

from minitriton.errors import MinitritonError

_C_TYPES = {
    "i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u1": "uint8_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "fp16": "uint16_t", "bf16": "uint16_t", "fp32": "float", "f32": "float", "fp64": "double",
}  # fmt: skip


def c_type(ty: str) -> str:
    """The C type in which a parameter of this type is passed: pointers as `CUdeviceptr`, half precision as its bits.

    Raises `MinitritonError` for types that C cannot pass.
    """
    if ty.startswith("*"):
        return "CUdeviceptr"
    found = _C_TYPES.get(ty)
    if found is None:
        raise MinitritonError(f"a parameter of type {ty!r} cannot be passed from C")
    return found
