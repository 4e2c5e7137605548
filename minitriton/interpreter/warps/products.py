"""The asynchronous products of a program that may still run, and the buffers that they read."""

from __future__ import annotations

from dataclasses import dataclass, field

from minitriton.interpreter.memory.shared_views import BufferView


@dataclass
class ProductsInFlight:
    """The asynchronous products of a program, by number, in the order in which they were started."""

    started: int = 0
    finished: int = 0
    operands: dict[int, list[BufferView]] = field(default_factory=dict[int, list[BufferView]])

    def start(self, buffers: list[BufferView]) -> int:
        """Another one, which reads `buffers`."""
        self.started += 1
        self.operands[self.started] = buffers
        return self.started

    def wait(self, pending: int) -> list[BufferView]:
        """All but the last `pending` ones end; the buffers that they read."""
        first, self.finished = self.finished, max(self.finished, self.started - pending)
        return [view for number in range(first + 1, self.finished + 1) for view in self.operands.pop(number)]
