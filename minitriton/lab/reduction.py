"""Makes the IR that shows a broken pass smaller.

In: a module, and whether a module still shows the fault. Out: a smaller one that does. A step drops a store, an op that nothing
uses, or an op in favour of one of its operands of the same type; what does not keep the fault is taken back.
"""

import time
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

Shows = Callable[[ModuleOp], bool]

MOST_SECONDS = 5.0
"""A reproducer somewhat larger is better than a long wait."""


def reduce(module: ModuleOp, shows: Shows, most_seconds: float = MOST_SECONDS) -> ModuleOp:
    """The smallest module found within the time that `shows` the fault. `module` itself stays as it is."""
    end = time.perf_counter() + most_seconds
    smaller = True
    while smaller and time.perf_counter() < end:
        smaller = False
        for index in reversed(range(size(module))):
            if time.perf_counter() > end:
                break
            found = _without(module, index, shows)
            if found is not None:
                module, smaller = found, True
    return module


def size(module: ModuleOp) -> int:
    """How many ops `module` has."""
    return sum(1 for _ in module.walk())


def _without(module: ModuleOp, index: int, shows: Shows) -> ModuleOp | None:
    """`module` without its op number `index`, in the first way that keeps the fault."""
    choice = 0
    while True:
        candidate = module.clone()
        ops = list(candidate.walk())
        if index >= len(ops) or not _drop(ops[index], choice):
            return None
        if shows(candidate):
            return candidate
        choice += 1


def _drop(op: Operation, choice: int) -> bool:
    """Removes `op` in way number `choice`; False if there are no more ways."""
    if op.parent is None or op.parent_op() is None or op.has_trait(IsTerminator) or op.parent_op() == _module_of(op):
        return False
    if all(not result.uses for result in op.results):
        if choice:
            return False
    elif len(op.results) == 1:
        same_type = [o for o in dict.fromkeys(op.operands) if o.type == op.results[0].type]
        if choice >= len(same_type):
            return False
        op.results[0].replace_all_uses_with(same_type[choice])
    else:
        return False
    op.detach()
    op.erase()
    return True


def _module_of(op: Operation) -> Operation:
    parent = op
    while (above := parent.parent_op()) is not None:
        parent = above
    return parent
