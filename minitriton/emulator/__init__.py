"""A PTX emulator: runs PTX text on the CPU and reports faults and costs.

from minitriton import emulator

report = emulator.run(ptx, "vector_add", (4,), [x, y, out, 4000], 0)    # `out` holds the sum
print(report.listing())
"""

from minitriton.emulator.kernel_arguments import MappedArray
from minitriton.emulator.launch import run
from minitriton.emulator.ptx.parser import parse
from minitriton.emulator.ptx.program import EmulationError, Module
from minitriton.emulator.report import Finding, Report, Traffic

__all__ = ["EmulationError", "Finding", "MappedArray", "Module", "Report", "Traffic", "parse", "run"]
