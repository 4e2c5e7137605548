"""Before and after a pass: ops keep their identity, values their names, and what moved is told from what is new."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import arith
from minitriton.dialects.text import parse_module, print_module
from minitriton.explorer.difference import Kind, compare
from minitriton.explorer.module_lines import Identities
from minitriton.explorer.snapshot import lines_of_assembly, lines_of_llvm_ir, snapshot
from minitriton.host.llvm_locations import LLVMLocations

PROGRAM = """
tt.func @f(%a: i32, %b: i32, %p: !tt.ptr<i32>) {
  %c = arith.addi %a, %b : i32
  %d = arith.muli %c, %a : i32
  %e = arith.subi %d, %b : i32
  tt.store %p, %e : !tt.ptr<i32>
  tt.return
}
"""


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(PROGRAM)


def find(module: ModuleOp, name: str):
    return next(op for op in module.walk() if op.name == name)


def test_the_lines_are_the_printed_module(module: ModuleOp) -> None:
    assert snapshot(module, "ttir", Identities()).text == print_module(module).rstrip("\n")


def test_a_line_knows_its_op_and_values(module: ModuleOp) -> None:
    lines = snapshot(module, "ttir", Identities()).lines
    add = next(line for line in lines if "arith.addi" in line.text)
    assert (len(add.defines), len(add.uses)) == (1, 2)
    assert add.op and add.op != next(line for line in lines if "arith.muli" in line.text).op


def test_nothing_changed_is_all_the_same(module: ModuleOp) -> None:
    identities = Identities()
    before, after = snapshot(module, "ttir", identities), snapshot(module, "ttir", identities)
    assert compare(before, after).counts() == {"same": len(before.lines)}


def test_a_removed_op_renumbers_nothing(module: ModuleOp) -> None:
    identities = Identities()
    before = snapshot(module, "ttir", identities)
    add = find(module, "arith.addi")
    add.results[0].replace_all_uses_with(add.operands[0])
    add.detach()
    add.erase()
    counts = compare(before, snapshot(module, "ttir", identities)).counts()
    assert (counts["removed"], counts["changed"]) == (1, 1)
    assert "added" not in counts


def test_a_moved_op_is_told_from_a_new_one(module: ModuleOp) -> None:
    identities = Identities()
    before = snapshot(module, "ttir", identities)
    store, block = find(module, "tt.store"), find(module, "tt.func").regions[0].block
    store.detach()
    constant = arith.ConstantOp.create(
        result_types=[find(module, "arith.addi").results[0].type],
        properties={"value": arith.IntegerAttr(3, 32)},
    )
    first = block.first_op
    assert first is not None
    block.insert_ops_before([store, constant], first)
    difference = compare(before, snapshot(module, "ttir", identities))
    moved = [row for row in difference.rows if row.kind is Kind.MOVED]
    assert len(moved) == 2 and {row.left is None for row in moved} == {True, False}
    assert difference.counts()["added"] == 1


def test_an_op_made_anew_stands_beside_the_one_it_replaces(module: ModuleOp) -> None:
    identities = Identities()
    before = snapshot(module, "ttir", identities)
    old = find(module, "arith.muli")
    new = arith.MuliOp(old.operands[0], old.operands[0])
    old.parent.insert_op_before(new, old)
    old.results[0].replace_all_uses_with(new.results[0])
    old.detach()
    old.erase()
    difference = compare(before, snapshot(module, "ttir", identities))
    assert difference.counts()["changed"] == 2
    assert not {"added", "removed"} & difference.counts().keys()


def test_every_line_stands_once_on_its_side(module: ModuleOp) -> None:
    identities = Identities()
    before = snapshot(module, "ttir", identities)
    find(module, "tt.store").detach()
    after = snapshot(module, "ttir", identities)
    rows = compare(before, after).rows
    assert [r.left for r in rows if r.left is not None] == list(range(len(before.lines)))
    assert [r.right for r in rows if r.right is not None] == list(range(len(after.lines)))


def test_every_line_of_inline_assembly_has_its_place() -> None:
    text = (
        ".visible .entry k(\n)\n{\n\t.loc\t1 7 3\n\t// begin inline asm\n\t{\n.reg .b64 a;\nwgmma.fence.sync.aligned;\n}\n\t// end inline asm\n"
        '$L__BB0_1:\n\tret;\n}\n\t.file\t1 "/k/a.py"\n'
    )
    sources = {line.text.strip(): line.source for line in lines_of_assembly(text, "ptx", {})}
    assert sources[".reg .b64 a;"] == sources["wgmma.fence.sync.aligned;"] == sources["ret;"] == ("/k/a.py", 7)
    assert sources["$L__BB0_1:"] is None and sources[".visible .entry k("] is None


def test_ptx_lines_have_the_place_of_their_loc() -> None:
    lines = lines_of_assembly(
        '\t.loc\t1 7 3\n\tadd.s32 %r1, %r2, 7;\n\t.loc\t1 9 1\n\tret;\n\t.file\t1 "/k/a.py"\n', "ptx", {}
    )
    assert [(line.text.strip(), line.source) for line in lines if line.source] == [
        ("add.s32 %r1, %r2, 7;", ("/k/a.py", 7)),
        ("ret;", ("/k/a.py", 9)),
        ('.file\t1 "/k/a.py"', ("/k/a.py", 9)),
    ]


def test_llvm_lines_have_the_place_of_their_metadata() -> None:
    text = (
        "define void @f() !dbg !2 {\n  %1 = add i32 1, 2, !dbg !4\n  ret void\n}\n"
        '!1 = !DIFile(filename: "a.py", directory: "/k")\n'
        '!2 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 3)\n!4 = !DILocation(line: 8, column: 2, scope: !2)\n'
    )
    lines = lines_of_llvm_ir(text, LLVMLocations(text))
    assert [line.source for line in lines if "add" in line.text] == [("/k/a.py", 8)]
    assert not any("!dbg !4" in line.text for line in lines)
