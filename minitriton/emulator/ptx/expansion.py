"""Functions put in place at their calls, and indexed branches as chains of plain ones, so that a kernel is one body.

In: a parsed kernel and the functions of its module. Out: the same kernel without calls of them. Arguments and results go
through variables in local memory, one set for every call:

    st.param.b32 [param0], %r1;               st.local.b32 [param0@9], %r1;
    call.uni (retval0), double, (param0);  →  ld.local.b32 %r7, [param0@9]; add.s32 %r8, %r7, %r7; st.local.b32 [retval0@9], %r8;
    ld.param.b32 %r2, [retval0];              ld.local.b32 %r2, [retval0@9];

    brx.idx %r1, table   →   setp.eq.u32 %q, %r1, 0; @%q bra A; setp.eq.u32 %q, %r1, 1; @%q bra B; bra C
"""

from dataclasses import replace

from minitriton.emulator.ptx.program import (
    Address,
    Function,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    PTXKernel,
    Register,
    Symbol,
    Vector,
)


def expand(kernel: PTXKernel, functions: dict[str, Function]) -> None:
    """Rewrites a kernel in place. Raises `EmulationError` for functions that call themselves."""
    if any(i.opcode.startswith(("call", "brx")) for i in kernel.instructions):
        _Expansion(kernel, functions).run()


class _Expansion:
    """Instructions and labels of the body as it grows; `calls` are the functions that are being put in place."""

    def __init__(self, kernel: PTXKernel, functions: dict[str, Function]) -> None:
        self.kernel, self.functions = kernel, functions
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.calls: list[str] = []
        self.count = 0

    def run(self) -> None:
        kernel = self.kernel
        body, labels = kernel.instructions, kernel.labels
        self.copy(body, labels, {}, {}, "", set())
        for position, instruction in enumerate(self.instructions):
            instruction.index = position
        kernel.instructions, kernel.labels = self.instructions, self.labels

    def copy(
        self, body: list[Instruction], labels: dict[str, int], registers: dict[int, Register], names: dict[str, str],
        end: str, own: set[str],
    ) -> None:  # fmt: skip
        """Appends a body. `registers` and `names` say what a function's own are here; it returns to the label `end`.
        `own` are its parameters and results."""
        at: dict[int, list[str]] = {}
        for label, index in labels.items():
            at.setdefault(index, []).append(names.get(label, label))
        through = self.passed(body) | own
        for index, old in enumerate(body):
            for label in at.get(index, ()):
                self.labels[label] = len(self.instructions)
            i = replace(
                old,
                operands=tuple(_rename(o, registers, names) for o in old.operands),
                guard=registers.get(old.guard.index, old.guard) if old.guard is not None else None,
            )
            if old.opcode.startswith("call") and (name := self.called(old)) is not None:
                self.call(i, self.functions[name])
            elif old.opcode.startswith("brx"):
                self.indexed_branch(i)
            elif end and old.opcode.split(".")[0] == "ret":
                if i.guard is not None or index + 1 < len(body):
                    self.instructions.append(replace(i, opcode="bra", operands=(Symbol(end),)))
            else:
                self.instructions.append(_in_local_memory(i, old, through))
        for label in at.get(len(body), ()):
            self.labels[label] = len(self.instructions)

    def passed(self, body: list[Instruction]) -> set[str]:
        """Names of the parameters of calls that are put in place."""
        found: set[str] = set()
        for i in body:
            if i.opcode.startswith("call") and self.called(i) is not None:
                found |= {
                    e.name for o in i.operands if isinstance(o, Vector) for e in o.elements if isinstance(e, Symbol)
                }
        return found

    def called(self, call: Instruction) -> str | None:
        """The function of this module that is called, if it is one with a body."""
        names = [o.name for o in call.operands if isinstance(o, Symbol)]
        return names[0] if names and names[0] in self.functions else None

    def call(self, i: Instruction, function: Function) -> None:
        """Puts a function in place of a call: its parameters are the variables that the call names."""
        if function.name in self.calls:
            raise i.error(f"`{function.name}` calls itself; the emulator puts functions in place")
        if i.guard is not None:
            raise i.error("the emulator does not know calls under a guard")
        vectors = [[e.name for e in o.elements if isinstance(e, Symbol)] for o in i.operands if isinstance(o, Vector)]
        results = vectors.pop(0) if function.results and vectors else []
        arguments = vectors[0] if vectors else []
        if (len(results), len(arguments)) != (len(function.results), len(function.parameters)):
            raise i.error(f"`{function.name}` takes {len(function.parameters)} arguments, {len(arguments)} are given")
        self.count += 1
        tag = f"#{self.count}"
        own = [*function.results, *(p.name for p in function.parameters)]
        names = dict(zip(own, [*results, *arguments], strict=True))
        self.kernel.variables += [self.kernel.passed[n] for n in (*results, *arguments)]
        self.kernel.passed |= {n + tag: replace(v, name=n + tag) for n, v in function.passed.items()}
        names |= {n: n + tag for n in (*function.labels, *function.passed)}
        for variable in function.variables:
            if variable.space == "local":
                names[variable.name] = variable.name + tag
                variable = replace(variable, name=variable.name + tag)
            if all(v.name != variable.name for v in self.kernel.variables):
                self.kernel.variables.append(variable)
        registers: dict[int, Register] = {}
        for r in function.registers:
            fresh = registers[r.index] = Register(len(self.kernel.registers), r.name, r.type)
            self.kernel.registers.append(fresh)
        end = f"{function.name}{tag}@end"
        self.kernel.tables |= {n + tag: [t + tag for t in targets] for n, targets in function.tables.items()}
        self.calls.append(function.name)
        self.copy(function.instructions, function.labels, registers, names, end, set(own))
        self.calls.pop()
        self.labels[end] = len(self.instructions)

    def indexed_branch(self, i: Instruction) -> None:
        """`brx.idx`: compares the index with every position of the table but the last."""
        index, table = i.operands
        if not isinstance(table, Symbol) or table.name not in self.kernel.tables:
            raise i.error("the table of an indexed branch must be a .branchtargets label")
        if i.guard is not None:
            raise i.error("the emulator does not know indexed branches under a guard")
        targets = self.kernel.tables[table.name]
        test = Register(len(self.kernel.registers), "%brx", "pred")
        self.kernel.registers.append(test)
        for number, target in enumerate(targets[:-1]):
            self.instructions.append(replace(i, opcode="setp.eq.u32", operands=(test, index, Immediate(number))))
            self.instructions.append(replace(i, opcode="bra", operands=(Symbol(target),), guard=test))
        self.instructions.append(replace(i, opcode="bra.uni", operands=(Symbol(targets[-1]),)))


def _rename(operand: Operand, registers: dict[int, Register], names: dict[str, str]) -> Operand:
    if not registers and not names:
        return operand
    if isinstance(operand, Register):
        return registers.get(operand.index, operand)
    if isinstance(operand, Symbol):
        return Symbol(names.get(operand.name, operand.name))
    if isinstance(operand, Vector):
        return Vector(tuple(_rename(e, registers, names) for e in operand.elements))
    if isinstance(operand, Pair):
        return Pair(_rename(operand.first, registers, names), _rename(operand.second, registers, names))
    if isinstance(operand, Negated):
        return Negated(registers.get(operand.operand.index, operand.operand))
    if isinstance(operand, Address):
        base = _rename(operand.base, registers, names)
        return Address(base, operand.offset, tuple(_rename(c, registers, names) for c in operand.coordinates))
    return operand


def _in_local_memory(i: Instruction, old: Instruction, through: set[str]) -> Instruction:
    """A load or store of a parameter that goes through a variable, as one of local memory."""
    if i.opcode.startswith(("ld.param", "st.param")):
        for operand in old.operands:
            base = operand.base if isinstance(operand, Address) else None
            if isinstance(base, Symbol) and base.name in through:
                return replace(i, opcode=i.opcode.replace(".param", ".local", 1))
    return i
