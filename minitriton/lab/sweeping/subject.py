"""A kernel with inputs: what pipelines are tried on.

    Subject.of_call(add, [x, y, out, 4000], (4,), BLOCK=1024)

The frontend runs once; every use of the IR begins with a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.compilation import stages
from minitriton.lab.arguments import Arguments
from minitriton.lab.execution import Launch
from minitriton.pass_manager import Pipeline
from minitriton.pass_registry import Property
from minitriton.target import CUDAOptions, GPUTarget


@dataclass
class Subject:
    """One kernel, one launch, one target."""

    name: str
    source: Any
    """An `ASTSource`, or an `IRSource` of TTIR or TTGIR."""
    arguments: Callable[[], Arguments]
    """Makes the launch's arguments; called once, when numbers are first wanted."""
    grid: tuple[int, ...]
    target: GPUTarget
    options: CUDAOptions
    _context: Context | None = field(default=None, repr=False)
    _module: ModuleOp | None = field(default=None, repr=False)

    @classmethod
    def of_call(
        cls,
        kernel: Any,
        args: Sequence[Any],
        grid: tuple[int, ...],
        *,
        name: str = "",
        arch: int = 90,
        options: dict[str, Any] | None = None,
        **constexprs: Any,
    ) -> Subject:
        """The launch `kernel[grid](*args, **constexprs)`; types and hints are taken from `args` as a launch does."""
        from minitriton.lab.call import source_of_call

        target = GPUTarget("cuda", arch, 32)
        source, arguments = source_of_call(kernel, args, constexprs)
        compile_options = CUDAOptions.for_target(target, **(options or {}))
        return cls(name or kernel.__name__, source, lambda: arguments, grid, target, compile_options)

    @property
    def context(self) -> Context:
        """The context that the IR belongs to."""
        from minitriton.dialects.context import make_context

        if self._context is None:
            self._context = make_context()
        return self._context

    @property
    def facts(self) -> frozenset[Property]:
        """What holds of the first IR."""
        return stages.first_facts(self.source.ext, self.target)

    def make_ir(self) -> ModuleOp:
        """The first IR, a copy of its own for each caller."""
        if self._module is None:
            self._module = self.source.make_ir(self.target, self.options, self.context).clone()
        assert self._module is not None
        return self._module.clone()

    def launch(self) -> Launch:
        """The launch, at every level."""
        return self.launch_with(self.arguments())

    def launch_with(self, arguments: Arguments) -> Launch:
        """The launch with other arguments."""
        return Launch(self.source.entry, arguments, self.grid, self.target, self.options)

    def pipeline(self) -> Pipeline:
        """The target's own pipeline, from where the source stands."""
        from minitriton.pipelines import pipeline_for

        parts = stages.split(pipeline_for(self.target, self.options), self.source.ext)
        return Pipeline(tuple(step for _, part in parts for step in part.steps))
