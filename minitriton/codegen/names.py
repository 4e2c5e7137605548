"""Which module registers each pass and translation of this layer, by its name: it is imported when a pipeline has it."""

from __future__ import annotations

PASSES = {
    "assemble-ptx": "minitriton.codegen.assemble_ptx",
    "convert-triton-gpu-to-llvm": "minitriton.codegen.convert_triton_gpu_to_llvm",
    "emit-ptx": "minitriton.codegen.emission",
    "optimize-llvm-ir": "minitriton.codegen.emission",
    "translate-to-llvm-ir": "minitriton.codegen.emission",
    "insert-barriers": "minitriton.codegen.place_shared_memory",
    "insert-proxy-fences": "minitriton.codegen.place_shared_memory",
    "place-shared-memory": "minitriton.codegen.place_shared_memory",
    "minitriton-use-free-shared-memory": "minitriton.codegen.place_shared_memory",
}
