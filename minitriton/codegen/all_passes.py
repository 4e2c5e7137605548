"""Imports every module of this layer that registers a pass or a translation."""

from minitriton.codegen import conversion_rounds as conversion_rounds
from minitriton.codegen import convert_triton_gpu_to_llvm as convert_triton_gpu_to_llvm
from minitriton.codegen import emission as emission
from minitriton.codegen import insert_barriers as insert_barriers
from minitriton.codegen import place_shared_memory as place_shared_memory
from minitriton.codegen import separate_buffers as separate_buffers
