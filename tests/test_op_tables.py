"""Tables that say what ops are may only become fewer: a fact of the op's class says it once (docs/op-facts.md)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from op_tables import _of_tree, tables

LIMIT = 52
"""Tables there are at most. Lower it with every one that goes."""

BY_NAME = {
    "dialects/tt/verify/compute.py", "dialects/tt/verify/func.py", "dialects/tt/verify/memory.py",
    "dialects/tt/verify/shape.py",
}  # fmt: skip
"""Files with tables of ops by name: complaints in Triton's words, which the classes themselves import late."""


def test_tables_of_ops_become_fewer() -> None:
    found = list(tables())
    shown = "\n".join(f"{each.file}:{each.line} {each.holder}" for each in found)
    assert len(found) <= LIMIT, f"{len(found)} tables of ops; declare a fact, or register with OpRules:\n{shown}"


def test_no_further_file_lists_ops_by_name() -> None:
    assert {each.file for each in tables() if each.by_name} <= BY_NAME


def test_registrations_and_types_are_no_tables() -> None:
    kept = ast.parse("KINDS = {tt.LoadOp, tt.StoreOp, tt.ReduceOp}\nif op.name in ('tt.load', 'tt.store'): pass")
    free = ast.parse(
        "RULES.update({tt.LoadOp: a, tt.StoreOp: b, tt.ReduceOp: c})\ndef f(op: A.AOp | A.BOp | A.COp): ..."
    )
    assert [(each.ops, each.by_name) for each in _of_tree(kept, "kept.py")] == [(3, False), (2, True)]
    assert not list(_of_tree(free, "free.py"))
