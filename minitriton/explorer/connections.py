"""Connections that ask nothing are closed: after some seconds, and the oldest where there are many.

uvicorn waits without end for the first request of a connection, and for the rest of one that has begun: a program that opens
connections and sends nothing would take all that the process may have (its open files).
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_TO_ASK = 10.0
MOST_IDLE = 64
"""Connections that have not asked yet. A browser opens six."""


class PromptConnection(H11Protocol):
    """A connection of HTTP/1.1 that must send a whole request head in time."""

    idle: ClassVar[dict[PromptConnection, asyncio.TimerHandle]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self not in self.idle:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        self.idle[self] = self.loop.call_later(SECONDS_TO_ASK, self.transport.close)
        if len(self.idle) > MOST_IDLE:
            oldest = next(iter(self.idle))
            oldest._stop_waiting()
            oldest.transport.close()

    def _stop_waiting(self) -> None:
        timer = self.idle.pop(self, None)
        if timer is not None:
            timer.cancel()
