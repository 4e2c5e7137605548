"""Rules of shape: what is one number or one row is computed before it is repeated. Of integers, whose sums may be taken in any order.

The rest of that family, which takes no other order, is `triton-reorder-broadcast`; loop invariants are moved by `triton-licm`.
"""

from __future__ import annotations

from minitriton.passes.algebra.rule import Rule

_ASSOCIATIVE = {"F": "addi muli andi ori xori minsi maxsi minui maxui"}

RULES = (
    Rule("gather-splats", "F(F(v, splat(s)), splat(t))", "F(v, splat(F(s, t)))", ops=_ASSOCIATIVE, profit="varies(v)"),
    Rule("gather-rows", "F(F(v, broadcast(a)), broadcast(b))", "F(v, broadcast(F(a, b)))", ops=_ASSOCIATIVE, profit="varies(v)"),
    Rule(
        "gather-row-and-splat", "F(F(v, broadcast(a)), splat(s))", "F(v, broadcast(F(a, splat(s))))", ops=_ASSOCIATIVE,
        profit="varies(v)",
    ),
    Rule(
        "gather-splat-and-row", "F(F(v, splat(s)), broadcast(a))", "F(v, broadcast(F(a, splat(s))))", ops=_ASSOCIATIVE,
        profit="varies(v)",
    ),
    Rule("subtract-splats", "subi(subi(v, splat(s)), splat(t))", "subi(v, splat(addi(s, t)))", profit="varies(v)"),
    Rule("add-and-subtract-splats", "subi(addi(v, splat(s)), splat(t))", "addi(v, splat(subi(s, t)))", profit="varies(v)"),
    Rule("subtract-and-add-splats", "addi(subi(v, splat(s)), splat(t))", "subi(v, splat(subi(s, t)))", profit="varies(v)"),
)  # fmt: skip
