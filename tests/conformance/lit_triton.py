"""What Triton's own lowering makes of the kernel of a lit test: TTGIR in, PTX and the bytes of shared memory out. Needs the wheel."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.text import print_module


def triton_ptx(module: ModuleOp, arch: int) -> tuple[str, int]:
    """The PTX that the wheel's pipeline from TTGIR on gives. Raises what the wheel raises."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget, Language
    from triton.compiler import make_backend
    from triton.compiler.compiler import IRSource

    module = module.clone()
    for op in [op for op in module.ops if op.name == "llvm.mlir.global"]:
        module.body.block.erase_op(op)  # Triton's lowering declares its shared memory itself
    context = ir.context()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ttgir"
        path.write_text(print_module(module))
        target = GPUTarget("cuda", arch, 32)
        backend: Any = make_backend(target)
        read: Any = IRSource
        source = read(str(path), context, backend)
        options = backend.parse_options(source.parse_options())
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, Language.TRITON)
        metadata: dict[str, object] = {"target": target, **vars(options)}
        built = source.make_ir(target, options, {}, {}, context)
        for stage in ("llir", "ptx"):
            built = stages[stage](built, metadata)
    shared = metadata["shared"]
    assert isinstance(shared, int)
    return str(built), shared
