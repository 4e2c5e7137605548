"""`python newer_wheel.py newer_kernels.py`, by a Python with Triton 3.9: the TTIR that its front end makes of each kernel, as JSON."""

import importlib.util
import json
import sys

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

spec = importlib.util.spec_from_file_location("newer_kernels", sys.argv[1])
assert spec is not None and spec.loader is not None
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)

target = GPUTarget("cuda", 90, 32)
backend = make_backend(target)
found = {"version": triton.__version__}
for name, dtype in kernels.INPUTS.items():
    pointer = {"int32": "*i32", "float32": "*fp32"}[dtype]
    source = ASTSource(getattr(kernels, name), {"out": pointer, "x": pointer}, {})
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    made = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    found[name] = made.str_nodebug()
print(json.dumps(found))
