"""A rewrite rule as data: a term before, a term after, when it holds, and how that was proved.

    Rule("divide-by-power-of-two", "divf(x, C)", "mulf_rn(x, divf(1.0, C))", when="power_of_two(C) and exact(1 / C)", over="float")

A term is written as a call: `divf(x, C)` is `arith.divf` (`OPERATIONS` has the names). A small letter is any value, a capital one a number known at
compile time (of a tensor: one number for all elements), a number itself. An operation named in `ops` stands for each of those that it lists.
`cmpi_slt` is a comparison with that predicate, `sum` and `max` are reductions of one operand by addition or by the maximum, `mulf_rn` a
multiplication that is never fused with an addition. What all operations of an op's class have besides operands (an axis, a region) is copied from the matched one.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from minitriton.errors import PipelineError
from minitriton.host.frozen import frozen

Level: TypeAlias = Literal["exact", "fast"]
Domain: TypeAlias = Literal["integer", "float", "any"]

PROVER = "2"
"""Which meaning of terms rules were proved with (`passes.algebra.proving`): another one makes all proofs void."""


class Term(NamedTuple):
    """A value (`leaf` is its name), a number (`leaf` is the number), or an operation on terms."""

    op: str = ""
    args: tuple[Term, ...] = ()
    leaf: str | int | float = ""

    @property
    def is_constant(self) -> bool:
        """Whether this is a number, or stands for one."""
        return not self.op and (not isinstance(self.leaf, str) or self.leaf.isupper())


@frozen
class Rule:
    """`before` is rewritten to `after` where `when` holds, in kernels that allow `level`."""

    name: str
    before: str
    after: str
    when: str = ""
    over: str = "integer"
    """`integer`, `float` or `any`; or the element types of the result that it holds for, such as `f16 bf16`."""
    ops: Mapping[str, str] = field(default_factory=dict[str, str])
    """By name, the operations that it stands for, separated by spaces."""
    level: Level = "exact"
    within: float = 0.0
    """Of a fast rule: the error that is proved, relative to the magnitude of what is added up, in ulp of the type."""
    profit: str = ""
    """What has to hold for the rule to be worth it (`matching.PROFITS`); the proof does not use it."""
    shared: bool = False
    """Whether operations inside `before` may have other users: they are then computed for these as before."""

    @property
    def text(self) -> str:
        """The rule in a line, all that its proof depends on."""
        parts = [f"{self.before} => {self.after}", f"when {self.when}" if self.when else "", f"for {self.over}"]
        parts += [f"{name} = {ops}" for name, ops in self.ops.items()]
        return "; ".join(filter(None, [*parts, f"within {self.within:g} ulp" if self.within else ""]))

    @property
    def digest(self) -> str:
        """Names the rule's text and the meaning that it was proved with."""
        return hashlib.sha256(f"{PROVER};{self.level};{self.text}".encode()).hexdigest()[:16]

    @cached_property
    def terms(self) -> tuple[Term, Term]:
        """`before` and `after`, read. Raises `PipelineError`."""
        try:
            return _term(self.before), _term(self.after)
        except (SyntaxError, ValueError) as error:
            raise PipelineError(f"rule {self.name}: {error}", help="write terms as in divf(x, C)") from None

    @cached_property
    def condition(self) -> ast.expr | None:
        """`when`, read."""
        return ast.parse(self.when, mode="eval").body if self.when else None

    def instances(self) -> Iterator[Rule]:
        """The rule for each operation that its `ops` stand for."""
        for chosen in itertools.product(*(each.split() for each in self.ops.values())):
            names = dict(zip(self.ops, chosen, strict=True))
            instance = replace(self, ops={})
            instance.__dict__["terms"] = tuple(_named(term, names) for term in self.terms)
            yield instance


def _term(text: str) -> Term:
    return _read(ast.parse(text, mode="eval").body, text)


def _read(node: ast.expr, text: str) -> Term:
    match node:
        case ast.Call(ast.Name(op), args, []):
            return Term(op, tuple(_read(each, text) for each in args))
        case ast.Name(name):
            return Term(leaf=name)
        case ast.Constant(int() | float() as number):
            return Term(leaf=number)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
            return Term(leaf=-number)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not a term")


def _named(term: Term, names: Mapping[str, str]) -> Term:
    return Term(names.get(term.op, term.op), tuple(_named(each, names) for each in term.args), term.leaf)


def proofs_of(file: str | Path) -> Path:
    """Where the digests of the proved rules of a file are."""
    return Path(file).with_suffix(".proved")


def proved_rules_of(file: str | Path) -> dict[str, str]:
    """By digest, how the rules in `file` were proved: the lines of the file next to it."""
    path = proofs_of(file)
    lines = path.read_text().splitlines() if path.exists() else []
    return {digest: proof for digest, _, proof in (line.partition(" ") for line in lines)}


class Family(NamedTuple):
    """The rules of a file."""

    file: str
    rules: tuple[Rule, ...]

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.file).stem

    def unproved(self) -> list[Rule]:
        """Rules that were changed or never proved."""
        known = proved_rules_of(self.file)
        return [rule for rule in self.rules if rule.digest not in known]


FAMILIES: dict[str, Family] = {}
"""By file, the rules that were registered, minitriton's own first."""


def register_rules(file: str, rules: Iterable[Rule]) -> None:
    """Adds rules to the table; `file` is the one that they are written in (`__file__`), next to which the digests of proved rules are."""
    FAMILIES[file] = Family(file, tuple(rules))


def proved_rules() -> list[Rule]:
    """All rules. Raises `PipelineError` for one that was not proved as it stands."""
    for family in FAMILIES.values():
        for rule in family.unproved():
            raise PipelineError(
                f"{family.file}: rule {rule.name} is not proved: {rule.text}",
                help=f"prove it: minitriton passes minitriton-algebra --prove --load {family.file}",
            )
    return [rule for family in FAMILIES.values() for rule in family.rules]
