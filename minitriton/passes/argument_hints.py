"""What every call of a function knows of its arguments, written on the function.

tt.call @f(%p)     %p divisible by 16
tt.func private @f(%arg0: !tt.ptr<f32>)
=>
tt.func private @f(%arg0: !tt.ptr<f32> {tt.constancy = 1 : i64, tt.contiguity = 1 : i64, tt.divisibility = 16 : i64})

Answers to `ModuleAxisInfoAnalysis::update` of lib/Analysis/AxisInfo.cpp, whose first user is coalescing.
"""

from __future__ import annotations

import functools

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, SymbolRefAttr, i64

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import tt
from minitriton.dialects.fast_paths.operations import ops_of


def write_argument_hints(module: ModuleOp, facts: AxisInfoAnalysis) -> None:
    """Writes the facts of the arguments of every function of `module` that is called in it."""
    functions = [op for op in module.body.block.ops if isinstance(op, tt.FuncOp)]
    if len(functions) < 2:
        return
    called = {_callee(call) for call in ops_of(module, tt.CallOp)}
    for function in functions:
        if function.sym_name.data in called and function.args:
            old = function.arg_attrs.data if function.arg_attrs is not None else (_NOTHING,) * len(function.args)
            known = (facts.get(argument) for argument in function.args)
            function.arg_attrs = ArrayAttr(
                _hinted(attributes, fact.contiguity, fact.divisibility, fact.constancy)
                for attributes, fact in zip(old, known, strict=True)
            )


_NOTHING = DictionaryAttr({})


def _callee(call: tt.CallOp) -> str:
    callee = call.callee
    assert isinstance(callee, SymbolRefAttr)
    return callee.string_value()


@functools.lru_cache(maxsize=1024)
def _number(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)


@functools.lru_cache(maxsize=1024)
def _hinted(
    attributes: DictionaryAttr,
    contiguity: tuple[int, ...],
    divisibility: tuple[int, ...],
    constancy: tuple[int, ...],
) -> DictionaryAttr:
    """`attributes` with what is known of a scalar; a tensor's facts have no place there."""
    hints = {"tt.constancy": constancy, "tt.contiguity": contiguity, "tt.divisibility": divisibility}
    written = {name: _number(value[0]) for name, value in hints.items() if len(value) == 1}
    return DictionaryAttr(dict(sorted({**attributes.data, **written}.items())))
