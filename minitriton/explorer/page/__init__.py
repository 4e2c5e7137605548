"""The page as it is shipped: `page.html`, and `explorer.js` and `explorer.css`, which `make page` builds from `web/`; and put together.

text, policy = live_page()                              as the server sends it, with its content security policy
text, nonce = page_with({"compiles": ...}, "'none'")    with what it shows inside
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from importlib import resources


def live_page() -> tuple[str, str]:
    """The page that asks its server for what it shows, the same for everybody, and its content security policy."""
    text, nonce = page_with({"live": True}, "'self'")
    return text, _policy(nonce, "'self'")


def _policy(nonce: str, connect: str) -> str:
    """Only the script and the styles of the page itself count (Content Security Policy level 3, "nonce-source")."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src {connect}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def page_with(given: Mapping[str, bool | str], connect: str) -> tuple[str, str]:
    """The page with `given` in it, and the nonce of its script and style: a digest of what the page holds, so that nothing in it can
    name it."""
    folder = resources.files(__name__)
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
