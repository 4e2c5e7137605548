"""The blocked encodings worth trying for a kernel's loads and stores, each as the pass that sets it.

layout_steps(subject)    [minitriton-choose-layout{access=0 order=0 size-per-thread=1}, ...{access=0 ... size-per-thread=2}, ...]
"""

from __future__ import annotations

import itertools

from xdsl.dialects.builtin import TensorType

from minitriton.compilation.pipeline_spec import make_step
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.tt import LoadOp, StoreOp
from minitriton.lab.sweeping.subject import Subject
from minitriton.pass_registry import Step

WIDTHS = (1, 2, 4, 8)
"""Neighbours along the fastest dimension that a thread takes."""


def layout_steps(subject: Subject) -> list[Step]:
    """For each load and store of the kernel's TTIR, in order, every order of its dimensions with every width."""
    found: list[Step] = []
    accesses = (op for op in ops_in(subject.make_ir()) if isinstance(op, LoadOp | StoreOp))
    for number, op in enumerate(op for op in accesses if isinstance(op.operands[0].type, TensorType)):
        type_ = op.operands[0].type
        assert isinstance(type_, TensorType)
        rank = len(type_.get_shape())
        for order in itertools.permutations(range(rank)):
            for width in WIDTHS:
                sizes = [1] * rank
                sizes[order[0]] = width
                options: dict[str, str | None] = {
                    "access": str(number),
                    "size-per-thread": ",".join(map(str, sizes)),
                    "order": ",".join(map(str, order)),
                }
                found.append(make_step("minitriton-choose-layout", options))
    return found
