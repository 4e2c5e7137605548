"""What is asked of a compile: all that its result depends on beside the compiler itself.

A request is made for every kernel, and its key looked up in the cache; nothing of the compiler is imported for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitriton import knobs
from minitriton.compilation.ast_source import ASTSource
from minitriton.compilation.overrides import Overrides, overrides_for
from minitriton.host.records import dataclass
from minitriton.target import CUDAOptions, GPUTarget

if TYPE_CHECKING:
    from minitriton.compilation.ir_source import IRSource


@dataclass(frozen=True)
class Switches:
    """What the environment may switch in every kernel's pipeline. Read once, where a compile begins; a value from then on."""

    line_info: bool = True
    optimize_llvm: bool = True
    llvm_flags: tuple[str, ...] = ()
    local_variables: bool = False


def environment_switches() -> Switches:
    """What the environment switches in every pipeline."""
    without = knobs.compilation.disable_llvm_opt
    return Switches(
        line_info=not knobs.compilation.disable_line_info,
        optimize_llvm=without is not True,
        llvm_flags=tuple(filter(None, map(str.strip, without.split(",")))) if isinstance(without, str) else (),
        local_variables=knobs.compilation.dump_ir_extract_di_local_variables,
    )


@dataclass(frozen=True)
class Request:
    """All that a result depends on beside the compiler itself."""

    source: ASTSource | IRSource
    target: GPUTarget
    options: CUDAOptions
    switches: Switches
    overrides: Overrides


def overrides_for_source(source: ASTSource | IRSource, options: CUDAOptions) -> Overrides:
    """Nothing is overridden where nothing can be: the hash of a source is made only if files are looked for."""
    wanted = knobs.compilation.override or options.ir_override is not None
    return overrides_for(source.name.removeprefix("@"), source.hash(), options) if wanted else Overrides({})
