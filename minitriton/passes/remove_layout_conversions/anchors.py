"""Which ops decide on a layout, which are too dear to do twice, which can give their result in any layout.

Questions about single ops that the steps of `tritongpu-remove-layout-conversions` ask.

    is_anchor(tt.load of 4096 pointers by 128 threads)  ->  True: its layout coalesces the access
    is_anchor(tt.load of 16 pointers)                   ->  False: cheap in any layout
    gives_any_layout(tt.splat)                          ->  True: `convert(splat x)` is a splat
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation

from minitriton.dialects.facts.layout import AnyLayout, LayoutAnchor, OnlyOnce
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.rewriting.effects import only_reads


def is_anchor(op: Operation) -> bool:
    """Whether the layout of the results of `op` is one to keep: propagation starts from it."""
    fact = LayoutAnchor.of(op)
    return fact is not None and fact.holds(op)


def can_be_repeated(op: Operation) -> bool:
    """Whether `op` may run once more in another layout: nobody can tell, and it is cheap. Of loops and branches only what they pass on."""
    fact = OnlyOnce.of(op)
    if fact is not None and fact.holds(op):
        return False
    return isinstance(op, scf.ForOp | scf.IfOp) or only_reads(op)


def gives_any_layout(op: Operation, layout: DistributedEncoding) -> bool:
    """Whether a conversion of the result of `op` to `layout` disappears into `op`."""
    fact = AnyLayout.of(op)
    return fact is not None and fact.allows(op, layout)
