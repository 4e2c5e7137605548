"""Passes of Triton's wheel on a text, and comparison of two texts of IR.

`ir_equal(a, b)` says whether two texts are the same module, names of values, locations and attribute aliases aside.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.text import parse_module, print_module

AddPass = Callable[[Any], None]
"""Adds one pass to a pass manager of the wheel."""


def on_wheel(text: str, add_passes: Iterable[AddPass]) -> str:
    """The text of `text` after passes of the wheel."""
    from triton._C.libtriton import ir, nvidia

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    manager = ir.pass_manager(context)
    for add in add_passes:
        add(manager)
    manager.run(module, "step")
    return module.str_nodebug()


def canonical_text(module: ModuleOp) -> str:
    """The text of a module with numbers for names."""
    for op in module.walk():
        for result in op.results:
            result.name_hint = None
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.name_hint = None
    return print_module(module)


def ir_equal(a: str, b: str) -> bool:
    """True if the texts are the same IR."""
    return canonical_text(parse_module(a)) == canonical_text(parse_module(b))
