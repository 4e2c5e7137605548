"""Modules inside LLVM do not meet: each has a context, which lives as long as the module, however it goes."""

import gc
import weakref

from minitriton.codegen import llvm_session
from minitriton.codegen.llvm_session import context_of, parsed_alone

TEXT = "%words0 = type { float, i32 }\n\ndefine %words0 @f(%words0 %v) {\n  ret %words0 %v\n}\n"


class Holder:
    """Keeps a module in a circle that only the garbage collector undoes."""

    def __init__(self) -> None:
        llvm_session.initialize()
        self.module = parsed_alone(TEXT)
        self.itself = self


def test_types_of_one_name_keep_it_in_every_module() -> None:
    modules = [Holder().module for _ in range(3)]
    assert all("define %words0 @f" in str(module) for module in modules)


def test_a_context_goes_after_its_module() -> None:
    holder = Holder()
    lives = context_of(holder.module)
    assert lives is not None
    context = weakref.ref(lives)
    del lives
    gc.collect()
    assert context() is not None and "%words0" in str(holder.module)
    del holder
    gc.collect()
    assert context() is None
