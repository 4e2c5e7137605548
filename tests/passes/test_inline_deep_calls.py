"""Calls in calls in calls: what each level adds is done once, whatever lies below it."""

from __future__ import annotations

import sys
from types import FrameType

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.passes.inline import Inline


def nested(levels: int, factor: str = "%k", first: str = "") -> str:
    """Functions that call each other in turn, each in a loop; the innermost multiplies by what the outermost passes on."""
    functions = [
        """
        tt.func private @level0(%x: i32, %n: i32, %k: i32) -> i32 {
          %y = arith.muli %x, %k : i32 loc("k.py":1:1)
          tt.return %y : i32
        }"""
    ]
    for level in range(1, levels + 1):
        functions.append(f"""
        tt.func private @level{level}(%x: i32, %n: i32, %k: i32) -> i32 {{
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %r = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> (i32) : i32 {{
            %z = tt.call @level{level - 1}(%y, %n, %k) : (i32, i32, i32) -> i32 loc("k.py":{level * 10}:1)
            %s = arith.addi %z, %i : i32 loc("k.py":{level * 10 + 1}:1)
            scf.yield %s : i32
          }} loc("k.py":{level * 10 + 2}:1)
          tt.return %r : i32
        }}""")
    functions.append(f"""
        tt.func public @kernel(%p: !tt.ptr<i32>, %n: i32, %k: i32) {{
          {first}
          %x = tt.load %p : !tt.ptr<i32>
          %r = tt.call @level{levels}(%x, %n, {factor}) : (i32, i32, i32) -> i32 loc("k.py":1000:1)
          tt.store %p, %r : !tt.ptr<i32>
          tt.return
        }}""")
    return "module {" + "\n".join(functions) + "\n}"


def inlined(text: str, locations: bool = False) -> str:
    """The text of a module after `inline`."""
    module = parse_module(text)
    Inline().apply(make_context(), module)
    module.verify()
    return print_module(module, locations=locations)


def calls_of_inlining(text: str) -> int:
    """How many functions are called by `inline`."""
    module, context = parse_module(text), make_context()
    count = 0

    def tick(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        Inline().apply(context, module)
    finally:
        sys.setprofile(before)
    return count


def test_twice_as_deep_takes_twice_the_work() -> None:
    calls_of_inlining(nested(2))
    work = [calls_of_inlining(nested(levels)) for levels in (10, 20, 40)]
    assert work[2] - work[1] < 2.2 * (work[1] - work[0]), work


def test_what_the_outermost_call_says_reaches_the_innermost_op() -> None:
    assert inlined(nested(6)).count("arith.muli") == 1
    text = inlined(nested(6, factor="%one", first="%one = arith.constant 1 : i32"))
    assert "arith.muli" not in text and text.count("scf.for") == 6


def test_equal_constants_of_all_levels_are_one_at_the_top() -> None:
    lines = [line.strip() for line in inlined(nested(5)).splitlines()]
    constants = [line for line in lines if "arith.constant" in line]
    assert constants == ["%c1_i32 = arith.constant 1 : i32", "%c0_i32 = arith.constant 0 : i32"]
    first = next(number for number, line in enumerate(lines) if "tt.func" in line)
    assert lines[first + 1 : first + 3] == constants


def places(text: str) -> dict[str, str]:
    """By alias what a place is, with the aliases in it written out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#loc"):
            name, _, place = line.partition(" = ")
            found[name] = place
    while any("#loc" in place for place in found.values()):
        for name, place in found.items():
            for other in sorted(found, key=len, reverse=True):
                place = place.replace(other, found[other].removeprefix("loc(").removesuffix(")"))
            found[name] = place
    return found


def place_of(text: str, op: str) -> set[str]:
    """The places of all ops of this name."""
    known = places(text)
    lines = [line for line in text.splitlines() if f" {op} " in line]
    return {known.get(where := line.rsplit("loc(", 1)[1].removesuffix(")"), where) for line in lines}


def test_an_op_stands_at_all_the_calls_that_it_is_inside_of() -> None:
    text = inlined(nested(3), locations=True)
    chain = 'loc(callsite("k.py":1:1 at callsite("k.py":10:1 at callsite("k.py":20:1 at callsite("k.py":30:1 at "k.py":1000:1)))))'
    assert place_of(text, "arith.muli") == {chain}
    assert 'loc(callsite("k.py":31:1 at "k.py":1000:1))' in place_of(text, "arith.addi")


def test_copies_of_a_function_stand_at_their_own_calls() -> None:
    text = nested(2).replace(
        "tt.store %p, %r",
        '%q = tt.call @level2(%r, %n, %k) : (i32, i32, i32) -> i32 loc("k.py":2000:1)\n          tt.store %p, %q',
    )
    found = place_of(inlined(text, locations=True), "arith.muli")
    assert found == {
        f'loc(callsite("k.py":1:1 at callsite("k.py":10:1 at callsite("k.py":20:1 at "k.py":{line}:1))))'
        for line in (1000, 2000)
    }


def test_an_op_made_of_several_inside_a_call_has_the_places_of_all() -> None:
    text = inlined(
        """module {
          tt.func private @tile(%x: i32) -> tensor<8x4xi32> {
            %row = tt.splat %x : i32 -> tensor<1x4xi32> loc("k.py":1:1)
            %all = tt.broadcast %row : tensor<1x4xi32> -> tensor<8x4xi32> loc("k.py":2:1)
            tt.return %all : tensor<8x4xi32>
          }
          tt.func private @twice(%x: i32) -> tensor<8x4xi32> {
            %y = tt.call @tile(%x) : (i32) -> tensor<8x4xi32> loc("k.py":10:1)
            tt.return %y : tensor<8x4xi32>
          }
          tt.func public @kernel(%p: tensor<8x4x!tt.ptr<i32>>, %x: i32) {
            %y = tt.call @twice(%x) : (i32) -> tensor<8x4xi32> loc("k.py":20:1)
            tt.store %p, %y : tensor<8x4x!tt.ptr<i32>>
            tt.return
          }
        }""",
        locations=True,
    )
    for line in 1, 2, 10, 20:
        assert f'"k.py":{line}:1' in text
