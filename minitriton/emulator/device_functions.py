"""Functions of NVIDIA's libdevice by themselves, on arrays: what the interpreter calls where NumPy has no such function.

In: a symbol, and one array for every argument. Out: an array of the results.

    evaluate("__nv_erfinv", [np.array([0.5])], np.dtype(np.float64))   →   [0.4769362762044699]

The function's code in libdevice is compiled to PTX, and that is run, one thread an element. Flushes denormals as kernels do.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from minitriton.codegen import llvm_session
from minitriton.codegen.ptx import emit, machine_for, optimize, parse_llvm_ir
from minitriton.emulator.launch import run
from minitriton.target import CUDAOptions, GPUTarget

THREADS = 128
_ARCH = 90
_TYPES = {"i4": "i32", "i8": "i64", "u4": "i32", "u8": "i64", "f4": "float", "f8": "double"}
"""LLVM's types, by kind and bytes."""

_KERNEL = """
declare {result} @{symbol}({types})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @device_function({pointers}, ptr addrspace(1) %out, i32 %count) #0 {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %cta, {threads}
  %index = add i32 %first, %thread
  %inside = icmp ult i32 %index, %count
  br i1 %inside, label %compute, label %end
compute:
{loads}
  %result = call {result} @{symbol}({arguments})
  %slot = getelementptr {result}, ptr addrspace(1) %out, i32 %index
  store {result} %result, ptr addrspace(1) %slot
  br label %end
end:
  ret void
}}
attributes #0 = {{ "nvvm.reqntid"="{threads}" "denormal-fp-math-f32"="preserve-sign" }}
!llvm.module.flags = !{{!0}}
!0 = !{{i32 4, !"nvvm-reflect-ftz", i32 1}}
"""


def evaluate(symbol: str, arguments: Sequence[np.ndarray], result: np.dtype) -> np.ndarray:
    """What the function gives for each element of `arguments` (integers and floats of 32 and 64 bits, all of one length).

    Raises `MinitritonError` if libdevice is not installed or has no such function.
    """
    count = len(arguments[0])
    ptx = _kernel(symbol, tuple(_type(argument.dtype) for argument in arguments), _type(result))
    out = np.zeros(count, result)
    inputs = [np.ascontiguousarray(argument) for argument in arguments]
    run(ptx, "device_function", (-(-count // THREADS),), [*inputs, out, count], check=False)
    return out


def _type(dtype: np.dtype) -> str:
    return _TYPES[dtype.str[1:]]


@lru_cache(maxsize=64)
def _kernel(symbol: str, types: tuple[str, ...], result: str) -> str:
    """The PTX of a kernel whose thread t calls the function for element t of its arrays."""
    loads = "".join(
        f"  %p{n} = getelementptr {type_}, ptr addrspace(1) %a{n}, i32 %index\n"
        f"  %v{n} = load {type_}, ptr addrspace(1) %p{n}\n"
        for n, type_ in enumerate(types)
    )
    text = _KERNEL.format(
        symbol=symbol,
        result=result,
        types=", ".join(types),
        pointers=", ".join(f"ptr addrspace(1) %a{n}" for n in range(len(types))),
        arguments=", ".join(f"{type_} %v{n}" for n, type_ in enumerate(types)),
        loads=loads,
        threads=THREADS,
    )
    options = CUDAOptions()
    with llvm_session.LOCK:
        machine = machine_for(GPUTarget("cuda", _ARCH), options)
        module = parse_llvm_ir(text, machine)
        optimize(module, machine)
        return emit(str(module), machine, fp_fusion=True)
