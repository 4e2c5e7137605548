"""Float arithmetic instructions; add, sub, mul, min, max, div, neg and abs go to the integer rules for integer types.

fma.rn.f32 %r4, %r1, %r2, %r3   →   r4_f32 = fma32(r1_f32, r2_f32, r3_f32)
"""

from collections.abc import Callable

import numpy as np

from minitriton.emulator.arithmetic import floats as float_math
from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.ptx.program import Instruction
from minitriton.emulator.rules import integer as rules_integer
from minitriton.emulator.translate import NAMES, BlockWriter, Rule, rule
from minitriton.interpreter.numbers.formats import extreme

for _name in (
    "bits16", "bits32", "bits64", "flush32", "fma32", "fma64", "fma_directed", "add_directed", "multiply_directed",
    "minmax_by_size", "upper64", "flush64", "exp2_32", "log2_32", "sin32", "cos32", "tanh32", "rsqrt32", "reciprocal32", "root32", "quotient32", "saturate32", "round32",
):  # fmt: skip
    NAMES[_name] = getattr(float_math, _name)
NAMES.update({"halves": float_math.halves, "joined": float_math.joined})
NAMES.update({"narrow": sf.narrow, "pairs": sf.pairs, "sqrt": np.sqrt, "extreme": extreme})
NAMES.update({"absolute": np.abs, "copysign": np.copysign, "exactly": float_math.exactly})

NARROW = {"f16": ("narrow", "f16"), "bf16": ("narrow", "bf16"), "f16x2": ("pairs", "f16"), "bf16x2": ("pairs", "bf16")}
DIRECTED = ("rz", "rm", "rp")
_UNARY = {
    "ex2": "exp2_32", "lg2": "log2_32", "sin": "sin32", "cos": "cos32", "tanh": "tanh32", "sqrt": "sqrt", "rsqrt": "rsqrt32", "rcp": "reciprocal32",
}  # fmt: skip


def is_float(type: str) -> bool:
    """Whether a PTX type is a float, single or packed."""
    return type in NARROW or type in ("f32", "f64", "f32x2")


def operands32(w: BlockWriter, i: Instruction, parts: list[str], start: int = 1) -> list[str]:
    """The float32 operands, flushed under `.ftz`."""
    values = [w.read(o, "f32") for o in i.operands[start:]]
    return [w.temporary(f"flush32({v})") for v in values] if "ftz" in parts else values


def result32(w: BlockWriter, i: Instruction, parts: list[str], expression: str) -> None:
    """Writes a float32 result, flushed under `.ftz`, clamped under `.sat`."""
    if "ftz" in parts:
        expression = f"flush32({expression})"
    if "sat" in parts:
        expression = f"saturate32({expression})"
    w.write(i.operands[0], "f32", expression)


def _narrow(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    function, format = NARROW[parts[-1]]
    kind = "u32" if function == "pairs" else "u16"
    name = ".".join((parts[0], *(p for p in parts[1:] if p in ("ftz", "sat", "relu", "NaN", "xorsign"))))
    values = ", ".join(w.read(o, kind) for o in i.operands[1:])
    w.write(i.operands[0], kind, f"{function}({name!r}, {format!r}, {values})")


def _packed32(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """Two float32 in 64 bits (`add`, `sub`, `mul` and `fma` of sm_100 and later)."""
    operands = [w.temporary(f"halves({w.read(o, 'u64')})") for o in i.operands[1:]]
    operands = [w.temporary(f"flush32({each})") for each in operands] if "ftz" in parts else operands
    found = _arithmetic32(parts, operands)
    w.write(i.operands[0], "u64", f"joined(flush32({found}))" if "ftz" in parts else f"joined({found})")


def _arithmetic32(parts: list[str], operands: list[str]) -> str:
    """`add`, `sub`, `mul`, `div`, `fma` or `mad` of float32, rounded as asked for."""
    name, mode = parts[0], next((p for p in parts if p in DIRECTED), None)
    a, b, *third = operands
    if third:
        return f"fma_directed({a}, {b}, {third[0]}, {mode!r})" if mode else f"fma32({a}, {b}, {third[0]})"
    if mode is None:
        return f"{a} { {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}[name] } {b}"
    directed = {
        "add": f"add_directed({a}, {b}", "sub": f"add_directed({a}, -{b}", "mul": f"multiply_directed({a}, {b}",
        "div": f"exactly('div', {mode!r}, {a}, {b}",
    }  # fmt: skip
    return directed[name] + (")" if name == "div" else f", {mode!r})")


def _wide(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """float64."""
    a, *rest = (w.read(o, "f64") for o in i.operands[1:])
    name = parts[0]
    operands = ", ".join((a, *rest))
    mode = next((p for p in parts if p in DIRECTED), None)
    binary = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    if mode:
        one = w.constant(1.0, "f64")
        function = {"mad": "fma", "rcp": "div"}.get(name, name)
        expression = f"exactly({function!r}, {mode!r}, {f'{one}, {a}' if name == 'rcp' else operands})"
    elif name in ("rcp", "rsqrt") and "approx" in parts:
        one, value = w.constant(1.0, "f64"), f"flush64({a})" if "ftz" in parts else a
        quotient = f"{one} / {value}" if name == "rcp" else f"{one} / sqrt({value})"
        expression = f"upper64({quotient})" if "ftz" in parts else quotient
    elif name in binary:
        expression = f"{a} {binary[name]} {rest[0]}"
    elif name in ("fma", "mad"):
        expression = f"fma64({a}, {rest[0]}, {rest[1]})"
    elif name in ("min", "max"):
        expression = f"extreme({a}, {rest[0]}, {name == 'max'})"
    elif name in ("sqrt", "abs"):
        expression = f"{'absolute' if name == 'abs' else 'sqrt'}({a})"
    elif name == "neg":
        expression = f"-{a}"
    else:
        expression = {"rcp": f"{w.constant(1.0, 'f64')} / {a}"}[name]
    w.write(i.operands[0], "f64", expression)


def _by_type(*names: str, integers: Callable[[str], Rule] | None = None) -> Callable[[Rule], Rule]:
    """Registers how an instruction of float32 is written; f64, narrow floats and integers have their own way."""

    def register(function: Rule) -> Rule:
        def write(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
            type = parts[-1]
            own = {"f64": _wide, "f32x2": _packed32, **dict.fromkeys(NARROW, _narrow)}.get(type, function)
            (integers(parts[0]) if integers is not None and not is_float(type) else own)(w, i, parts)

        rule(*names)(write)
        return function

    return register


_INTEGERS = {
    "mul": rules_integer.multiply, "div": rules_integer.divide, "min": rules_integer.minmax, "max": rules_integer.minmax,
}  # fmt: skip


@_by_type("add", "sub", "mul", "div", "min", "max", integers=lambda name: _INTEGERS.get(name, rules_integer.arithmetic))
def _binary32(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    name = parts[0]
    a, b, *third = operands32(w, i, parts)
    if name in ("min", "max"):
        function = "minmax_by_size" if "xorsign" in parts else "extreme"
        expression = f"{function}({a}, {b}, {name == 'max'}, {'NaN' in parts})"
        if third:
            if "xorsign" in parts:
                raise ValueError("three operands with .xorsign")
            expression = f"extreme({expression}, {third[0]}, {name == 'max'}, {'NaN' in parts})"
    elif name == "div" and ("full" in parts or "approx" in parts):
        expression = f"quotient32({a}, {b})"
    else:
        expression = _arithmetic32(parts, [a, b])
    result32(w, i, parts, expression)


@_by_type("fma", "mad", integers=lambda name: rules_integer.multiply)
def _fused(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    a, b, c = operands32(w, i, parts)
    result32(w, i, parts, _arithmetic32(parts, [a, b, c]))


@_by_type("ex2", "lg2", "sin", "cos", "tanh", "sqrt", "rsqrt", "rcp")
def _function(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    (a,) = operands32(w, i, parts)
    mode = next((p for p in parts if p in DIRECTED), None)
    if mode is None:
        function = "root32" if parts[:2] == ["sqrt", "approx"] else _UNARY[parts[0]]
        result32(w, i, parts, f"{function}({a})")
    else:
        operands = a if parts[0] == "sqrt" else f"{w.constant(1.0, 'f32')}, {a}"
        result32(w, i, parts, f"exactly({'sqrt' if parts[0] == 'sqrt' else 'div'!r}, {mode!r}, {operands})")


@_by_type("neg", "abs")
def _sign(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """Sign changes are bit operations: a NaN keeps its payload."""
    a = f"bits32({operands32(w, i, parts)[0]})" if "ftz" in parts else w.read(i.operands[1], "u32")
    mask = w.constant(0x80000000 if parts[0] == "neg" else 0x7FFFFFFF, "u32")
    w.write(i.operands[0], "u32", f"{a} {'^' if parts[0] == 'neg' else '&'} {mask}")


@rule("copysign")
def _copysign(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    sign, size = (w.read(o, parts[-1]) for o in i.operands[1:3])
    w.write(i.operands[0], parts[-1], f"copysign({size}, {sign})")


@rule("testp")
def _test(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    a = w.read(i.operands[1], parts[-1])
    small = w.constant(2.0**-126 if parts[-1] == "f32" else 2.0**-1022, parts[-1])
    tests = {
        "finite": f"absolute({a}) < INFINITY", "infinite": f"absolute({a}) == INFINITY", "number": f"{a} == {a}",
        "notanumber": f"{a} != {a}", "normal": f"(absolute({a}) < INFINITY) & (absolute({a}) >= {small})",
        "subnormal": f"(absolute({a}) < {small}) & ({a} != 0)",
    }  # fmt: skip
    w.write(i.operands[0], "b1", tests[parts[1]])


NAMES["INFINITY"] = np.float32(np.inf)
