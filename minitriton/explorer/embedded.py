"""The explorer within a notebook, with everything in it that needs no server.

from minitriton.explorer.embedded import explore

explore("running_sums")
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.kept_answers import compile_with_answers
from minitriton.explorer.packing import file_page
from minitriton.explorer.session import ExplorerSession
from minitriton.host.whole_file import write_whole


@dataclass(frozen=True)
class ExplorerPage:
    """The explorer's page of one kernel, as a file has it."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:760px;border:1px solid #8884"></iframe>'

    def write(self, path: str | Path) -> None:
        """Writes the page to a file."""
        write_whole(Path(path), self.html)


def explore(source: str, signature: str = "", **given: Any) -> ExplorerPage:
    """The explorer of a kernel, `FILE.py:kernel` or a name of the corpus; `given` are fields of `CompileRequest`. Raises `MinitritonError`."""
    asked = CompileRequest(source, signature, **given).with_own_launch()
    return ExplorerPage(file_page([compile_with_answers(ExplorerSession(), asked, triton=False)]))
