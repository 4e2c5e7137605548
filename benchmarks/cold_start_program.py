"""The program that `cold_start.py` starts: one kernel, compiled by one compiler, and nothing else imported. Without a kernel the file of kernels is only imported.

python benchmarks/cold_start_program.py minitriton '{"path": "minitriton_kernels/vector_add.py", "kernel": "vector_add", ...}'
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys


def main() -> None:
    compiler, asked = sys.argv[1], json.loads(sys.argv[2])
    language = importlib.import_module(f"{compiler}.language")
    # The kernels are Triton programs.
    sys.modules["triton"], sys.modules["triton.language"] = sys.modules[compiler], language
    spec = importlib.util.spec_from_file_location("kernels", asked["path"])
    assert spec is not None and spec.loader is not None
    kernels = importlib.util.module_from_spec(spec)
    sys.modules["kernels"] = kernels
    spec.loader.exec_module(kernels)
    if asked["kernel"] is None:
        return
    module = importlib.import_module(f"{compiler}.compiler")
    target = importlib.import_module(f"{compiler}.backends.compiler").GPUTarget("cuda", 90, 32)
    constexprs = {
        name: getattr(language, value[3:]) if isinstance(value, str) and value.startswith("tl.") else value
        for name, value in asked["constexprs"].items()
    }
    attributes = {(place,): [["tt.divisibility", 16]] for place in asked["aligned"]}
    source = module.ASTSource(getattr(kernels, asked["kernel"]), asked["signature"], constexprs, attributes)
    compiled = module.compile(source, target=target, options=asked["options"])
    assert compiled.asm["cubin"]


if __name__ == "__main__":
    main()
