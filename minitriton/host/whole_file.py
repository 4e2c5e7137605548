"""Files and folders that are never seen half written: a reader finds what was there before, or all that is new.

    write_whole(Path("page.html"), text)
    with whole_folder(Path("recorded/000-add")) as folder:
        (folder / "launch.json").write_text(...)        # below another name, which becomes `000-add` at the end

What fails (a full disk, an exception, Ctrl-C) leaves nothing behind, what is killed a name that begins with a dot.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Generator
from pathlib import Path


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes the file, text as UTF-8, through another one in its folder: with the mode that it had, or that a new file gets.

    A link is followed. What is not a file (`/dev/stdout`, a pipe), and a file in a folder that cannot be written, is written to. Raises `OSError` as writing does.
    """
    content = content.encode() if isinstance(content, str) else content
    path = Path(os.path.realpath(path))
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | (0o666 & ~_umask())
    scratch = None
    if not stat.S_ISREG(mode) or (path.exists() and not os.access(path.parent, os.W_OK)):
        path.write_bytes(content)
        return
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".writing-", delete=False) as file:
            scratch = file.name
            file.write(content)
        os.chmod(scratch, stat.S_IMODE(mode))
        os.replace(scratch, path)
    except BaseException:
        if scratch is not None:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
        raise


@contextlib.contextmanager
def whole_folder(path: Path, prefix: str = ".writing-") -> Generator[Path]:
    """A new folder to write into, called `path` once the block has ended. Raises `OSError`, where a folder of this name has something in it too."""
    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
    try:
        yield scratch
        scratch.chmod(0o777 & ~_umask())
        scratch.rename(path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _umask() -> int:
    """What the process takes away from the modes of new files; it can be asked by setting it only, which other threads would see."""
    try:
        with open("/proc/self/status", "rb") as status:
            found = next(line for line in status if line.startswith(b"Umask:"))
        return int(found.split()[1], 8)
    except (OSError, StopIteration, ValueError):
        return 0o022
