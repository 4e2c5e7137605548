"""The textual form of an op, compiled for printing: what of it is the same for all ops of a class is found out once.

In: the statements of an `assembly_format`. Out: steps that print what stands for an op, each with the text before it:

    "$lhs `,` $rhs attr-dict `:` type($result)"    →    " " %lhs, ", " %rhs, attributes if there are any, " : " type

xDSL goes through the statements for each op and asks each whether a space belongs before it, 100 calls for an addition; here it takes 20.
Whether a space stands somewhere follows from what was printed last; where that is not the same for all ops, an op's form is left to xDSL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple, TypeAlias, cast

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttrDictDirective,
    AttributeVariable,
    CustomDirective,
    Directive,
    FormatDirective,
    FunctionalTypeDirective,
    KeywordDirective,
    OperandVariable,
    OptionalGroupDirective,
    OptionalOperandVariable,
    OptionalUnitAttrVariable,
    PrintingState,
    PunctuationDirective,
    ResultVariable,
    TypeDirective,
    VariadicOperandVariable,
    WhitespaceDirective,
)
from xdsl.printer import Printer

PrintStep: TypeAlias = Callable[[Printer, IRDLOperation], "bool | None"]
"""Prints a part of an op; true if it has printed all that was left."""

Form: TypeAlias = tuple[PrintStep, ...]


class _LeftToXdsl(Exception):
    """What stands between words is not the same for all ops."""


class _Spacing(NamedTuple):
    """What a `PrintingState` says when a statement's turn comes."""

    last_was_punctuation: bool = False
    should_emit_space: bool = True

    def before_word(self) -> str:
        return " " if self.should_emit_space or not self.last_was_punctuation else ""


_WORD = _Spacing()
"""After a name, a type or an attribute, and at the beginning."""


@dataclass
class _Making:
    """Steps so far, text that waits for the next step, and what may be known of the spacing then."""

    spacings: frozenset[_Spacing] = frozenset({_WORD})
    text: str = ""
    steps: list[PrintStep] = field(default_factory=list[PrintStep])

    def same(self, text_of: Callable[[_Spacing], str]) -> str:
        """What is `text_of` of the spacing, whichever it is."""
        texts = {text_of(spacing) for spacing in self.spacings}
        if len(texts) > 1:
            raise _LeftToXdsl
        return texts.pop()

    def word(self) -> str:
        """The text before a name, a type or an attribute, which always stands there."""
        text = self.text + self.same(_Spacing.before_word)
        self.text, self.spacings = "", frozenset({_WORD})
        return text

    def flush(self) -> None:
        """What waits is printed, as what follows may not be."""
        if self.text:
            self.steps.append(_text(self.text))
            self.text = ""

    def then_perhaps(self, step: PrintStep) -> None:
        """A step that prints a word, or nothing."""
        self.flush()
        self.steps.append(step)
        self.spacings |= {_WORD}


def printed_form(statements: tuple[FormatDirective, ...]) -> Form | None:
    """The steps that print an op by `statements`; None where these must be asked for each op."""
    making = _Making()
    try:
        for index, statement in enumerate(statements):
            _add(statement, making, statements[index + 1 :])
    except _LeftToXdsl:
        return None
    making.flush()
    return tuple(making.steps)


def _add(statement: FormatDirective, making: _Making, rest: tuple[FormatDirective, ...] | None) -> None:
    """Adds the steps of `statement`. `rest`: what follows in the whole form; None inside a group."""
    match statement:
        case PunctuationDirective():
            _add_punctuation(statement.punctuation, making)
        case KeywordDirective():
            making.text += making.same(lambda spacing: " " if spacing.should_emit_space else "") + statement.keyword
            making.spacings = frozenset({_WORD})
        case WhitespaceDirective():
            _add_whitespace(statement, making)
        case OperandVariable():
            making.steps.append(_operand(making.word(), statement.name))
        case OptionalOperandVariable() | VariadicOperandVariable() | FunctionalTypeDirective():
            _add_any(statement, making)
        case TypeDirective():
            _add_type(statement, making)
        case AttrDictDirective():
            making.then_perhaps(_attributes(statement))
        case OptionalUnitAttrVariable():
            pass
        case AttributeVariable():
            _add_attribute(statement, making)
        case OptionalGroupDirective():
            _add_group(statement, making)
        case CustomDirective() if rest is not None and len(making.spacings) == 1:
            (spacing,) = making.spacings
            making.flush()
            making.steps.append(_custom(statement, spacing, rest))
            making.spacings = frozenset({_WORD})
        case _:
            raise _LeftToXdsl


def _text(text: str) -> PrintStep:
    return lambda printer, op: printer.print_string(text)


def _add_punctuation(punctuation: str, making: _Making) -> None:
    def before(spacing: _Spacing) -> str:
        closing = _AFTER_PUNCTUATION if spacing.last_was_punctuation else _AFTER_WORD
        return " " if spacing.should_emit_space and punctuation not in closing else ""

    making.text += making.same(before) + punctuation
    making.spacings = frozenset({_Spacing(True, punctuation not in ("<", "(", "{", "["))})


_AFTER_PUNCTUATION = (">", ")", "}", "]", ",")
_AFTER_WORD = ("<", ">", "(", ")", "{", "}", "[", "]", ",")
"""Before these no space stands."""


def _add_whitespace(statement: WhitespaceDirective, making: _Making) -> None:
    if statement.whitespace == "\n":
        raise _LeftToXdsl
    making.text += statement.whitespace
    making.spacings = frozenset({_Spacing(statement.whitespace == "", False)})


def _add_any(statement: FormatDirective, making: _Making) -> None:
    """A statement that prints a word or nothing, and asks for nothing but a space before it."""
    if len(making.spacings) > 1:
        raise _LeftToXdsl
    (spacing,) = making.spacings
    making.then_perhaps(lambda printer, op: statement.print(printer, _state(spacing), op))


def _operand(before: str, name: str) -> PrintStep:
    get = cast(Callable[[IRDLOperation], SSAValue], attrgetter(name))

    def step(printer: Printer, op: IRDLOperation) -> None:
        if before:
            printer.print_string(before)
        printer.print_ssa_value(get(op))

    return step


def _add_type(statement: TypeDirective, making: _Making) -> None:
    inner = statement.inner
    if isinstance(inner, (OperandVariable, ResultVariable)):
        making.steps.append(_type(making.word(), inner.name))
    else:
        _add_any(statement, making)


def _type(before: str, name: str) -> PrintStep:
    get = cast(Callable[[IRDLOperation], SSAValue], attrgetter(name))

    def step(printer: Printer, op: IRDLOperation) -> None:
        printer.print_string(before)
        printer.print_attribute(get(op).type)

    return step


def _attributes(statement: AttrDictDirective) -> PrintStep:
    expected = frozenset(statement.expected_properties)

    def step(printer: Printer, op: IRDLOperation) -> None:
        if op.attributes or not expected.isdisjoint(op.properties):
            statement.print(printer, PrintingState(), op)

    return step


def _is_there(variable: AttributeVariable) -> Callable[[IRDLOperation], Attribute | None]:
    """From an op to the attribute of `variable`, None where it is not printed."""
    default = variable.default_value

    def get(op: IRDLOperation) -> Attribute | None:
        attribute = variable.get(op)
        return None if attribute is default or attribute == default else attribute

    return variable.get if default is None else get


def _add_attribute(variable: AttributeVariable, making: _Making, always: bool = False) -> None:
    get, put = _is_there(variable), variable.print_attr
    if always:
        before = making.word()
    else:
        before = making.same(_Spacing.before_word)

    def step(printer: Printer, op: IRDLOperation) -> None:
        attribute = get(op)
        if attribute is not None:
            if before:
                printer.print_string(before)
            put(printer, attribute)

    if always:
        making.steps.append(step)
    else:
        making.then_perhaps(step)


def _add_group(group: OptionalGroupDirective, making: _Making) -> None:
    start, anchor = making.spacings, group.anchor
    making.flush()
    there = _branch((*group.then_whitespace, group.then_first, *group.then_elements), start, anchor)
    absent = _branch(group.else_elements, start, None)
    inside, outside = tuple(there.steps), tuple(absent.steps)
    attribute = _is_there(anchor) if isinstance(anchor, AttributeVariable) else None

    def is_there(op: IRDLOperation) -> bool:
        return attribute(op) is not None if attribute is not None else anchor.is_present(op)

    def step(printer: Printer, op: IRDLOperation) -> None:
        for each in inside if is_there(op) else outside:
            each(printer, op)

    making.steps.append(step)
    making.spacings = there.spacings | absent.spacings


def _branch(statements: tuple[FormatDirective, ...], start: frozenset[_Spacing], anchor: Directive | None) -> _Making:
    making = _Making(start)
    for statement in statements:
        if statement is anchor and isinstance(statement, AttributeVariable):
            if not isinstance(statement, OptionalUnitAttrVariable):
                _add_attribute(statement, making, always=True)
        elif statement is anchor and isinstance(statement, OptionalOperandVariable):
            making.steps.append(_operand(making.word(), statement.name))
        else:
            _add(statement, making, None)
    making.flush()
    return making


def _custom(statement: CustomDirective, spacing: _Spacing, rest: tuple[FormatDirective, ...]) -> PrintStep:
    """A directive of a dialect's own, which may leave any spacing after; other than a word's is known to xDSL only."""

    def step(printer: Printer, op: IRDLOperation) -> bool:
        state = _state(spacing)
        statement.print(printer, state, op)
        if state.should_emit_space and not state.last_was_punctuation:
            return False
        for each in rest:
            each.print(printer, state, op)
        return True

    return step


def _state(spacing: _Spacing) -> PrintingState:
    return PrintingState(spacing.last_was_punctuation, spacing.should_emit_space)
