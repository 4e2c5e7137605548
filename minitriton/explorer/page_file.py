"""A recording as one HTML file that needs neither a server nor a network.

Path("softmax.html").write_text(html(recording))
"""

from __future__ import annotations

import json
from importlib import resources

from minitriton.explorer.payload import payload
from minitriton.explorer.recording import Recording


def html(recording: Recording) -> str:
    """The page, with its style, its script and the recording inside."""
    folder = resources.files("minitriton.explorer") / "page"
    # `</` would end the script element wherever it stands; in JSON `<\/` means the same.
    data = json.dumps(payload(recording), separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    parts = {
        "/*STYLE*/": (folder / "explorer.css").read_text(),
        "/*DATA*/": data,
        "/*SCRIPT*/": (folder / "explorer.js").read_text().replace("</script", "<\\/script"),
    }
    text = (folder / "page.html").read_text()
    for place, content in parts.items():
        before, _, after = text.partition(place)
        text = before + content + after
    return text
