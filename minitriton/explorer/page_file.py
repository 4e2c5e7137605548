"""The page: as one HTML file that needs neither a server nor a network, and as the server sends it.

Path("softmax.html").write_text(html([compile_payload]))
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources

from minitriton.explorer.packing import PackedCompile, packed
from minitriton.explorer.payload import payload
from minitriton.explorer.recording import Recording
from minitriton.explorer.wire import CompilePlain, Question


def html(recording: Recording) -> str:
    """The page of a recording alone: its passes and states, without what is known of values."""
    return file_page([payload(recording)])


def file_page(compiles: list[CompilePlain], lessons: str | None = None) -> str:
    """The page with everything inside: `compiles` and `lessons` as `kept_answers` makes them."""
    given = {"compiles": [packed(one) for one in compiles], **({"lessons": lessons} if lessons else {})}
    return _page(given, "'none'")


def live_page(asked: list[Question], token: str) -> str:
    """The page that asks its server, with `token`, for what it shows: first for `asked`."""
    return _page({"asked": asked, "token": token}, "'self'")


def _page(given: Mapping[str, Sequence[PackedCompile] | Sequence[Question] | str], connect: str) -> str:
    folder = resources.files("minitriton.explorer") / "page"
    # `</` would end the script element wherever it stands; in JSON `<\/` means the same.
    data = json.dumps(given, separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    parts = {
        "/*CONNECT*/": connect,
        "/*STYLE*/": (folder / "explorer.css").read_text("utf-8"),
        "/*DATA*/": data,
        "/*SCRIPT*/": (folder / "explorer.js").read_text("utf-8").replace("</script", "<\\/script"),
    }
    text = (folder / "page.html").read_text("utf-8")
    for place, content in parts.items():
        before, _, after = text.partition(place)
        text = before + content + after
    return text
