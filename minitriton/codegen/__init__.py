"""TTGIR to the LLVM level, to LLVM IR text, to PTX, to a cubin.

| module | what for |
|---|---|
| `place_shared_memory.py`, `insert_barriers.py` | passes just before the lowering: how much shared memory is used and where, what orders its accesses |
| `lowering/` | one rule per op, one module per family; `lowering/function.py` walks a function |
| `registers.py` | what a thread holds of a tensor: a scalar, a vector, or an expression made where it is needed |
| `builder.py` | making ops of the `llvm` and `nvvm` dialects, fast |
| `text/`, `llvm_text.py`, `debug_info.py` | the text of LLVM IR, one writer per op |
| `llvm_session.py`, `ptx.py`, `emission.py` | LLVM in this process: parse, link, optimise, emit |
| `nvidia/` | what only NVIDIA GPUs have: lowerings to `nvvm`, its text, libdevice |
| `cubin.py`, `nvjitlink.py` | assembling PTX |

To lower a new op, write a rule in a module of `lowering/` (of `nvidia/`, if it makes `nvvm` ops) that `convert_triton_gpu_to_llvm.py` imports:

    @lowers(tt.MyOp)
    def my_op(f: FunctionLowering, op: tt.MyOp) -> None:
        f.values[op.result] = f.b.fneg(f.vector(op.src))
"""
