"""The page: as one HTML file that needs neither a server nor a network, and as the server sends it.

Path("softmax.html").write_text(html([compile_payload]))
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources

from minitriton.explorer.packing import PackedCompile, packed, payload
from minitriton.explorer.recording import Recording
from minitriton.explorer.wire import CompileJson


def html(recording: Recording) -> str:
    """The page of a recording alone: its passes and states, without what is known of values."""
    return file_page([payload(recording)])


def file_page(compiles: list[CompileJson], lessons: str | None = None) -> str:
    """The page with everything inside: `compiles` and `lessons` as `kept_answers` makes them."""
    given = {"compiles": [packed(one) for one in compiles], **({"lessons": lessons} if lessons else {})}
    return _page(given, "'none'")[0]


def live_page() -> tuple[str, str]:
    """The page that asks its server for what it shows, the same for everybody, and its content security policy."""
    text, nonce = _page({"live": True}, "'self'")
    return text, _policy(nonce, "'self'")


def _policy(nonce: str, connect: str) -> str:
    """Only the script and the styles of the page itself count (Content Security Policy level 3, "nonce-source")."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src {connect}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _page(given: Mapping[str, bool | str | Sequence[PackedCompile]], connect: str) -> tuple[str, str]:
    """The page with `given` in it, and the nonce of its script and style: a digest of what the page holds, so that nothing in it can
    name it."""
    folder = resources.files("minitriton.explorer") / "page"
    # `</` would end the script element wherever it stands; in JSON `<\/` means the same.
    data = json.dumps(given, separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    script = (folder / "explorer.js").read_text("utf-8").replace("</script", "<\\/script")
    nonce = hashlib.sha256((data + script).encode()).hexdigest()[:32]
    parts = {
        "POLICY": _policy(nonce, connect),
        "NONCE": nonce,
        "STYLE": (folder / "explorer.css").read_text("utf-8"),
        "DATA": data,
        "SCRIPT": script,
    }
    text = (folder / "page.html").read_text("utf-8")
    # All at once: a kernel's text may have such a mark in it.
    return re.sub(r"/\*([A-Z]+)\*/", lambda mark: parts[mark[1]], text), nonce
