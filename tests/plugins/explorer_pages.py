"""Pages of the explorer as tests read them."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from pathlib import Path


def inflated(page: Path) -> str:
    """The page's text, with what is deflated in it as it was before."""

    def whole(match: re.Match[str]) -> str:
        try:
            return zlib.decompress(base64.b64decode(match[0])).decode()
        except (zlib.error, binascii.Error, UnicodeDecodeError):
            return match[0]

    return re.sub(r"[A-Za-z0-9+/]{64,}={0,2}", whole, page.read_text())
