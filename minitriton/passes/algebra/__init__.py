"""`minitriton-algebra`: rewrites what a table of rules says, each proved.

    %3 = arith.divf %0, dense<8.0>        =>      %3 = arith.mulf %0, dense<0.125> fastmath<arcp>        divide-by-power-of-two

The rules are in `integers`, `floats`, `choices`, `shapes` (exact: the same bits) and `fast` (other roundings, only where the kernel is compiled with
`algebra="fast"`); `minitriton passes minitriton-algebra` prints them. A rule that was not proved does not load (`rule`, `proving`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.integer_range.analysis import GRID_LIMITS
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.passes.algebra import choices, fast, floats, integers, matching, shapes
from minitriton.passes.algebra.rule import FAMILIES, Family, Level, Rule, proved_rules, proved_rules_of, register_rules
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.rewriter import Rewriter

for _module in (integers, floats, choices, shapes, fast):
    assert _module.__file__ is not None
    register_rules(_module.__file__, _module.RULES)

ROUNDS = 8
"""How often a module is gone over at most: each round rewrites what the one before made possible."""


@functools.cache
def _rules(level: Level, _: int) -> dict[type[Operation], tuple[Rule, ...]]:
    """The rules of a level, by the class of op that they begin with."""
    found: dict[type[Operation], list[Rule]] = {}
    for rule in proved_rules():
        if rule.level == "exact" or level == "fast":
            for instance in rule.instances():
                for cls in matching.roots(instance):
                    found.setdefault(cls, []).append(instance)
    return {cls: tuple(rules) for cls, rules in found.items()}


@register_pass
class Algebra(Pass, stage="ttir"):
    """Rewrites arithmetic by a table of proved rules: exactly, or with other roundings (`level=fast`)."""

    name: ClassVar[str] = "minitriton-algebra"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TTIR})
    values: ClassVar = {"level": ("exact", "fast")}

    level: str = "exact"
    """`fast`: the rules that round otherwise too."""

    rules: str = ""
    """Names of the rules that are applied, separated by `+`; nothing: all of the level."""

    max_programs: int = GRID_LIMITS[0]
    """The most programs along x that a launch will have, as of `minitriton-simplify-integers`."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Goes over all ops from the last to the first, so that a rule sees what the outermost op computes, until nothing changes."""
        by_class = _rules("fast" if self.level == "fast" else "exact", len(FAMILIES))
        named = frozenset(filter(None, self.rules.split("+")))
        changed = False
        for _ in range(ROUNDS):
            if not _rewrite_once(op, by_class, named, self.max_programs):
                break
            apply_patterns_greedily(op)
            changed = True
        return changed

    @classmethod
    def details(cls) -> str:
        """The table of rules."""
        return "\n".join(line for family in FAMILIES.values() for line in table(family))

    @classmethod
    def prove(cls) -> Iterator[tuple[str, bool]]:
        """Proves all rules, those of files that were loaded too."""
        from minitriton.passes.algebra.proving import NotProved, prove_family

        for family in FAMILIES.values():
            for rule, proof in prove_family(family):
                failed = isinstance(proof, NotProved)
                yield f"{'not proved' if failed else 'proved':10} {rule.name}: {proof}", not failed


def table(family: Family) -> list[str]:
    """Two lines for each rule: level, file, name and what it says; how it was proved."""
    methods = proved_rules_of(family.file)
    return [
        f"  {rule.level:5} {family.name:8} {rule.name:32} {rule.text}\n{'':49}{methods.get(rule.digest, 'not proved')}"
        for rule in family.rules
    ]


def _rewrite_once(
    module: ModuleOp, by_class: Mapping[type[Operation], Sequence[Rule]], named: frozenset[str], max_programs: int
) -> bool:
    """Rewrites each op that a rule matches, once."""
    candidates = [op for op in ops_in(module) if op.__class__ in by_class]
    if not candidates:
        return False
    rewriter = Rewriter(module)
    conditions = matching.Conditions(module, max_programs)
    for op in reversed(candidates):
        if op.parent is None or op.results[0].first_use is None:
            continue
        for rule in by_class[op.__class__]:
            if named and rule.name not in named:
                continue
            found = matching.match(rule, op)
            if found is None or not conditions.hold(rule, found):
                continue
            if matching.rewrite(rule, found, rewriter):
                remark(op, f"{rule.name}: {rule.before} => {rule.after}")
                break
    return rewriter.changed
