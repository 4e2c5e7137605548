"""An attribute that keeps LLVM from reasoning about a value."""

OPAQUE = "ttg.opaque"
"""On an `arith.addi` of scalars: its second operand reaches LLVM through inline PTX, so that loops count as they are written."""
