"""Imports every module of this layer that registers a pass or a translation."""

import minitriton.codegen.conversion_rounds
import minitriton.codegen.convert_triton_gpu_to_llvm
import minitriton.codegen.emission
import minitriton.codegen.insert_barriers
import minitriton.codegen.place_shared_memory
import minitriton.codegen.separate_buffers  # noqa: F401
