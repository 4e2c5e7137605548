"""Locations in the user's source, from the metadata of LLVM IR; and from a line of the language's own library back to who called it.

    locations = LLVMLocations(text)
    locations.of("57")                                  ("softmax.py", 12): of what was inlined from the library, the call
    locations.callers[("standard.py", 139)]             [("softmax.py", 13), ("softmax.py", 15)]

PTX does not say where an instruction was inlined (LLVM 20 writes no `inlined_at`), so that `Callers` finds it by the lines around.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

FileLine = tuple[str, int]

_LIBRARY = str(Path(__file__).parents[1] / "language")
_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+).*?scope: !(\d+)(?:, inlinedAt: !(\d+))?")
_SCOPE = re.compile(r"^!(\d+) = .*?file: !(\d+)")
_FILE = re.compile(r'^!(\d+) = !DIFile\(filename: "([^"]*)"(?:, directory: "([^"]*)")?')


class LLVMLocations:
    """The locations that the metadata of a module names."""

    def __init__(self, text: str) -> None:
        self._locations: dict[str, tuple[int, str, str]] = {}
        self._scopes: dict[str, str] = {}
        self._files: dict[str, str] = {}
        for line in text.split("\n"):
            if not line.startswith("!"):
                continue
            if found := _LOCATION.match(line):
                self._locations[found[1]] = (int(found[2]), found[3], found[4] or "")
            elif found := _FILE.match(line):
                self._files[found[1]] = f"{found[3]}/{found[2]}" if found[3] else found[2]
            elif found := _SCOPE.match(line):
                self._scopes[found[1]] = found[2]

    def of(self, number: str) -> FileLine | None:
        """The user's location that location `!number` is; None where it names no file."""
        path, line, inlined = self._written(number)
        if inlined and path.startswith(_LIBRARY):
            return self.of(inlined)
        return (path, line) if path else None

    def _written(self, number: str) -> tuple[str, int, str]:
        line, scope, inlined = self._locations.get(number, (0, "", ""))
        return self._files.get(self._scopes.get(scope, ""), ""), line, inlined

    @cached_property
    def callers(self) -> dict[FileLine, list[FileLine]]:
        """For each line of the library the user's lines that it was inlined at."""
        found: dict[FileLine, set[FileLine]] = {}
        for number in self._locations:
            path, line, inlined = self._written(number)
            user = self.of(number) if inlined else None
            if user is not None and path.startswith(_LIBRARY):
                found.setdefault((path, line), set()).add(user)
        return {location: sorted(users) for location, users in found.items()}


class Callers:
    """Walks over lines in order and says the user's location of each: of the library's, the call nearest to where it stands."""

    def __init__(self, callers: dict[FileLine, list[FileLine]]) -> None:
        self._callers = callers
        self._last: FileLine | None = None

    def user_line(self, location: FileLine) -> FileLine:
        """The user's location that `location` stands for."""
        candidates = self._callers.get(location)
        if not candidates:
            self._last = location
            return location
        last = self._last
        if last is None or last[0] != candidates[0][0]:
            return candidates[0]
        # Code goes on: of several calls that is meant which stands at the last line or after it.
        found = next((one for one in candidates if one >= last), candidates[-1])
        self._last = found
        return found


_FILE_OF_PTX = re.compile(r'^[ \t]*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LINE_OF_PTX = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")


def called_at(ptx: str, number: int, llvm_ir: str) -> FileLine | None:
    """The user's line that called the library, where line `number` of the PTX of `llvm_ir` is the library's; None of other lines."""
    callers = LLVMLocations(llvm_ir).callers
    users, files = Callers(callers), dict(_FILE_OF_PTX.findall(ptx))
    location: FileLine | None = None
    user: FileLine | None = None
    for line in ptx.split("\n")[:number] if callers else ():
        if (found := _LINE_OF_PTX.match(line)) and found[2] != "0":
            location = files.get(found[1], ""), int(found[2])
            user = users.user_line(location)
    return user if location in callers else None
