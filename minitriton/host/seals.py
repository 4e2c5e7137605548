"""Which data may name Python code that is then run: what this user wrote, and what is in a folder that the user trusts (docs/security.md).

    seal("recorded launch", text)               a digest of the text that needs the user's key (HMAC-SHA256), to be stored with it
    is_own("recorded launch", text, found)      whether it was made with that key

The key is a file that only the user can read, made when it is first needed. Where it cannot be kept, nothing is the user's own.
"""

import contextlib
import functools
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from minitriton import knobs
from minitriton.host.damaged_files import read_regular

_KEY_BYTES = 32


def seal(kind: str, text: str) -> str:
    """The seal of a text of this kind; "" where there is no key."""
    key = _key(knobs.cache.key_file)
    return hmac.new(key, f"{kind}\n{text}".encode(), hashlib.sha256).hexdigest() if key else ""


def is_own(kind: str, text: str, found: str) -> bool:
    """Whether `found` is this user's seal of the text."""
    expected = seal(kind, text)
    return bool(expected) and hmac.compare_digest(expected.encode(), found.encode())


def is_trusted(path: str | Path) -> bool:
    """Whether a file is in a folder of `MINITRITON_TRUSTED`, or below one."""
    real = os.path.realpath(path)
    return any(real.startswith(os.path.realpath(folder) + os.sep) for folder in knobs.runtime.trusted)


@functools.cache
def _key(name: str) -> bytes:
    import tempfile

    path = Path(name)
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".key-") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
                file.flush()
                with contextlib.suppress(FileExistsError):  # of two processes the first
                    os.link(file.name, path)
        found = path.stat()
        if found.st_mode & 0o077 == 0 and found.st_uid == getattr(os, "geteuid", lambda: found.st_uid)():
            key = read_regular(path, _KEY_BYTES)
            return key if len(key) == _KEY_BYTES else b""
    return b""
