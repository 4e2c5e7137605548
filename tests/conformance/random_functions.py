"""Random small functions: arithmetic on scalars or tensors, and structured control flow around it.

`arithmetic(seed)` and `control_flow(seed)` are texts of modules; equal seeds give equal texts.
"""

from __future__ import annotations

import random

INTS = ("i1", "i8", "i32", "i64")
FLOATS = ("f16", "f32", "bf16", "f64")
INT_OPS = [
    "addi",
    "subi",
    "muli",
    "divsi",
    "divui",
    "remsi",
    "remui",
    "andi",
    "ori",
    "xori",
    "shli",
    "shrsi",
    "shrui",
    "maxsi",
    "minsi",
    "maxui",
    "minui",
]
FLOAT_OPS = ["addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"]
CMPI = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
CMPF = ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"]
NUMBERS = ("0.0", "-0.0", "1.0", "2.5", "-1.0", "0.1", "1000.0", "-128.0", "300.0")
CASTS = (
    [("extsi", a, b) for i, a in enumerate(INTS) for b in INTS[i + 1 :]]
    + [("extui", a, b) for i, a in enumerate(INTS) for b in INTS[i + 1 :]]
    + [("trunci", b, a) for i, a in enumerate(INTS) for b in INTS[i + 1 :]]
    + [(op, a, b) for op in ("sitofp", "uitofp") for a in INTS for b in FLOATS]
    + [(op, b, a) for op in ("fptosi", "fptoui") for a in INTS for b in FLOATS]
    + [("extf", "f16", "f32"), ("extf", "bf16", "f32"), ("extf", "f32", "f64")]
    + [("truncf", "f32", "f16"), ("truncf", "f32", "bf16"), ("truncf", "f64", "f32")]
    + [("bitcast", "i32", "f32"), ("bitcast", "f32", "i32"), ("bitcast", "i64", "f64"), ("bitcast", "i32", "i32")]
)


class _Arithmetic:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_tensor = bool(seed % 2)
        self.lines: list[str] = []
        self.values: dict[str, list[str]] = {t: [f"%{t}a", f"%{t}b"] for t in INTS + FLOATS}

    def type(self, element: str) -> str:
        return f"tensor<4x{element}>" if self.is_tensor else element

    def new(self, element: str, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        self.values[element].append(name)
        return name

    def constant(self, element: str) -> str:
        if element == "i1":
            number = self.random.choice(("true", "false"))
        elif element in INTS:
            low = -(1 << (int(element[1:]) - 1))
            number = str(self.random.choice((0, 1, -1, 2, 3, -2, 7, low, -low - 1)))
        else:
            number = self.random.choice(NUMBERS)
        if self.is_tensor:
            return self.new(element, f"arith.constant dense<{number}> : {self.type(element)}")
        return self.new(element, f"arith.constant {number}" + ("" if element == "i1" else f" : {element}"))

    def pick(self, element: str) -> str:
        if self.random.random() < 0.35:
            return self.constant(element)
        known = self.values[element]
        return self.random.choice(known[-3:] if self.random.random() < 0.8 else known)

    def step(self) -> None:
        pick, one_of = self.pick, self.random.choice
        kind = one_of(("int", "int", "int", "float", "cmpi", "cmpf", "select", "cast", "cast"))
        element = one_of(FLOATS if kind in ("float", "cmpf") else INTS)
        shown = self.type(element)
        if kind == "int":
            self.new(element, f"arith.{one_of(INT_OPS)} {pick(element)}, {pick(element)} : {shown}")
        elif kind == "float":
            self.new(element, f"arith.{one_of(FLOAT_OPS)} {pick(element)}, {pick(element)} : {shown}")
        elif kind == "cmpi":
            self.new("i1", f"arith.cmpi {one_of(CMPI)}, {pick(element)}, {pick(element)} : {shown}")
        elif kind == "cmpf":
            self.new("i1", f"arith.cmpf {one_of(CMPF)}, {pick(element)}, {pick(element)} : {shown}")
        elif kind == "select":
            condition = f"{self.type('i1')}, " if self.is_tensor else ""
            operands = f"{pick('i1')}, {pick(element)}, {pick(element)}"
            self.new(element, f"arith.select {operands} : {condition}{shown}")
        else:
            op, source, target = one_of(CASTS)
            self.new(target, f"arith.{op} {pick(source)} : {self.type(source)} to {self.type(target)}")

    def text(self) -> str:
        for _ in range(self.random.randint(4, 16)):
            self.step()
        parameters = ", ".join(f"%{t}{k}: {self.type(t)}" for t in INTS + FLOATS for k in "ab")
        element_of = {value: t for t, values in self.values.items() for value in values}
        names = [line.split()[0] for line in self.lines]
        used = names[-2:]
        types = ", ".join(self.type(element_of[name]) for name in used)
        body = "\n".join(self.lines)
        return (
            f"module {{\n  tt.func @f({parameters}) -> ({types}) {{\n{body}\n"
            f"    tt.return {', '.join(used)} : {types}\n  }}\n}}\n"
        )


def arithmetic(seed: int) -> str:
    """A function of up to 16 random `arith` ops (and their constants); on tensors for odd seeds."""
    return _Arithmetic(seed).text()


def _types(count: int) -> str:
    return ", ".join(["i32"] * count)


class _ControlFlow:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, known: list[str]) -> str:
        return self.random.choice(known[-5:] if self.random.random() < 0.7 else known)

    def picks(self, known: list[str], count: int) -> str:
        return ", ".join(self.pick(known) for _ in range(count))

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def results(self, count: int) -> tuple[str, list[str]]:
        """What stands before the op, and the names of its results."""
        if count == 0:
            return "", []
        name = self.name()
        if count == 1:
            return f"{name} = ", [name]
        return f"{name}:{count} = ", [f"{name}#{index}" for index in range(count)]

    def block(self, known: list[str], depth: int) -> list[str]:
        """Random ops; the values known after them."""
        known = list(known)
        for _ in range(self.random.randint(0, 4)):
            kind = self.random.random()
            if kind < 0.35 or depth > 4:
                known.append(self.simple(known, depth))
            elif kind < 0.45:
                self.emit(depth, f"tt.store %p, {self.pick(known)} : !tt.ptr<i32>")
            elif kind < 0.68:
                known += self.loop(known, depth)
            elif kind < 0.9:
                known += self.branch(known, depth)
            else:
                known += self.while_loop(known, depth)
        return known

    def simple(self, known: list[str], depth: int) -> str:
        name = self.name()
        op = self.random.choice(("addi", "muli", "subi", "divsi", "maxsi", "constant", "load"))
        if op == "constant":
            self.emit(depth, f"{name} = arith.constant {self.random.choice((0, 1, 2, 3, 4, 8))} : i32")
        elif op == "load":
            self.emit(depth, f"{name} = tt.load %p : !tt.ptr<i32>")
        else:
            self.emit(depth, f"{name} = arith.{op} {self.picks(known, 2)} : i32")
        return name

    def loop(self, known: list[str], depth: int) -> list[str]:
        count = self.random.randint(0, 3)
        bounds = (self.pick(known), self.pick(known), self.random.choice(("%c1", "%c4", "%n")))
        if self.random.random() < 0.5:
            bounds = ("%c0", self.random.choice(("%c0", "%c1", "%c4", "%n")), self.random.choice(("%c1", "%c4")))
        counter, arguments = self.name(), [self.name() for _ in range(count)]
        before, results = self.results(count)
        carried = ", ".join(f"{argument} = {self.pick(known)}" for argument in arguments)
        carry = f" iter_args({carried}) -> ({_types(count)})" if count else ""
        self.emit(depth, f"{before}scf.for {counter} = {bounds[0]} to {bounds[1]} step {bounds[2]}{carry} : i32 {{")
        inner = self.block([*known, counter, *arguments], depth + 1)
        if count:
            source = inner if self.random.random() < 0.7 else known + arguments
            self.emit(depth + 1, f"scf.yield {self.picks(source, count)} : {_types(count)}")
        self.emit(depth, "}")
        return results

    def branch(self, known: list[str], depth: int) -> list[str]:
        count = self.random.randint(0, 2)
        condition = "%b"
        if self.random.random() < 0.6:
            condition = self.name()
            predicate = self.random.choice(("slt", "eq", "ne", "sge"))
            self.emit(depth, f"{condition} = arith.cmpi {predicate}, {self.picks(known, 2)} : i32")
        before, results = self.results(count)
        self.emit(depth, f"{before}scf.if {condition}" + (f" -> ({_types(count)})" if count else "") + " {")
        for side in range(2 if count or self.random.random() < 0.4 else 1):
            if side:
                self.emit(depth, "} else {")
            inner = self.block(known, depth + 1)
            if count:
                self.emit(depth + 1, f"scf.yield {self.picks(inner, count)} : {_types(count)}")
        self.emit(depth, "}")
        return results

    def while_loop(self, known: list[str], depth: int) -> list[str]:
        carried, forwarded = self.random.randint(1, 3), self.random.randint(1, 3)
        arguments = [self.name() for _ in range(carried)]
        received = [self.name() for _ in range(forwarded)]
        before, results = self.results(forwarded)
        starts = ", ".join(f"{argument} = {self.pick(known)}" for argument in arguments)
        shown = f"({_types(forwarded)})" if forwarded > 1 else "i32"
        self.emit(depth, f"{before}scf.while ({starts}) : ({_types(carried)}) -> {shown} {{")
        inner, condition = known + arguments, self.name()
        self.emit(depth + 1, f"{condition} = arith.cmpi slt, {self.picks(inner, 2)} : i32")
        self.emit(depth + 1, f"scf.condition({condition}) {self.picks(inner, forwarded)} : {_types(forwarded)}")
        self.emit(depth, "} do {")
        self.emit(depth, "^bb0(" + ", ".join(f"{name}: i32" for name in received) + "):")
        inner = self.block(known + received, 9)
        self.emit(depth + 1, f"scf.yield {self.picks(inner, carried)} : {_types(carried)}")
        self.emit(depth, "}")
        return results

    def text(self) -> str:
        for number in (0, 1, 4):
            self.emit(2, f"%c{number} = arith.constant {number} : i32")
        known = self.block(["%n", "%x", "%y", "%c0", "%c1", "%c4"], 2)
        parameters = "%p: !tt.ptr<i32>, %n: i32, %x: i32, %y: i32, %b: i1"
        body = "\n".join(self.lines)
        return (
            f"module {{\n  tt.func @f({parameters}) -> (i32, i32) {{\n{body}\n"
            f"    tt.return {self.picks(known, 2)} : i32, i32\n  }}\n}}\n"
        )


def control_flow(seed: int) -> str:
    """A function of random loops and branches, nested up to three deep, with loads and stores of one pointer."""
    return _ControlFlow(seed).text()
