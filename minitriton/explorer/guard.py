"""Who may ask the explorer's server: its own page, opened with a code that works once.

    guard = Guard(8753)
    guard.code                      in the address that is printed, and so in the arguments of a browser
    guard.token_for(guard.code)     the token that every question needs, and a new code; None for any other code

The address of a page can be read by other users of a machine (arguments of processes, histories). A code that has been used is
worth nothing to them; the token is only ever in the memory and the local storage of the page.
"""

from __future__ import annotations

import hmac
import secrets

HOST = "127.0.0.1"


class Guard:
    """Takes a request to this very host, of no other page, with the token."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self.code = secrets.token_urlsafe(24)
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._used: set[str] = set()

    @property
    def address(self) -> str:
        """Where a browser gets the token, once. What follows `#` is not sent: the page reads it."""
        return f"http://{HOST}:{self.port}/#code={self.code}"

    def token_for(self, code: str) -> str | None:
        """The token, where `code` is the one that has not been used; it is then replaced."""
        if not _is_equal(code, self.code):
            return None
        self._used.add(code)
        self.code = secrets.token_urlsafe(24)
        return self.token

    def was_used(self, code: str) -> bool:
        """Whether `code` once opened the page: who has it has read an address, and may look for the new one in the terminal."""
        return code in self._used

    def refusal(self, host: str, origin: str | None, site: str | None) -> str | None:
        """Why a request is refused, by its headers; None where it is not."""
        if host not in self.hosts:
            return "this server answers for its own address only"
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return "this server answers no other page"
        if site not in (None, "same-origin", "none"):
            return "this server answers no other page"
        return None

    def has_token(self, token: str | None) -> bool:
        """Whether `token` is the token."""
        return token is not None and _is_equal(token, self.token)


def _is_equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())
