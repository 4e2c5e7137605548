"""Files and folders that are never seen half written: a reader finds what was there before, or all that is new.

    write_whole(Path("page.html"), text)
    with whole_folder(Path("recorded/000-add")) as folder:
        (folder / "launch.json").write_text(...)        # below another name, which becomes `000-add` at the end

What fails (a full disk, an exception, Ctrl-C) leaves nothing, what is killed a name that begins with a dot.
"""

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Generator
from pathlib import Path

SECONDS_OF_A_WRITE = 3600.0


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes the file, text as UTF-8, through another one in its folder: with the mode that it had, or that a new file gets.

    A link is followed. What is not a file (`/dev/stdout`, a pipe), and a file in a folder that cannot be written, is written to. Raises `OSError` as writing does.
    """
    import tempfile

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
def whole_folder(path: Path, prefix: str = ".writing-", *, replaces: bool = False) -> Generator[Path]:
    """A new folder to write into, called `path` once the block has ended. Raises `OSError`, unless it `replaces` what has this name where that
    is not empty too."""
    import shutil
    import tempfile

    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
    try:
        yield scratch
        scratch.chmod(0o777 & ~_umask())
        if replaces and path.is_dir():
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=prefix) as grave:
                path.rename(Path(grave) / path.name)
                scratch.rename(path)
        else:
            scratch.rename(path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def remove_leftovers(folder: Path, prefix: str = ".writing-") -> None:
    """Removes what processes that were killed left in `folder` more than an hour ago: those that still write take less."""
    import shutil

    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.name.startswith(prefix) and time.time() - path.lstat().st_mtime > SECONDS_OF_A_WRITE:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _umask() -> int:
    """What the process takes away from the modes of new files; it can be asked by setting it only, which other threads would see."""
    try:
        with open("/proc/self/status", "rb") as status:
            found = next(line for line in status if line.startswith(b"Umask:"))
        return int(found.split()[1], 8)
    except (OSError, StopIteration, ValueError):
        return 0o022


# Names of files made from names of kernels, which IR text spells as it likes.
#
# stem_of("softmax")     →   softmax
# stem_of("../../x")     →   _.._x-1f3a90c2, a file in the folder it is joined to

_PLAIN = re.compile(r"[A-Za-z0-9_][\w.$-]*", re.ASCII)
MOST_CHARACTERS = 150
"""Of a name, so that a suffix fits into the 255 bytes that file systems take (Triton's limit)."""


MOST_PATH = 4096
"""Bytes of a path on Linux (`PATH_MAX`)."""


def shortened(path: str) -> str:
    """The path of a source file as debug information has it: one that is longer than any file's is shortened, and distinguished from others by a digest."""
    if len(path) <= MOST_PATH:
        return path
    return f"{path[: MOST_PATH - 9]}-{hashlib.sha256(path.encode(errors='replace')).hexdigest()[:8]}"


def stem_of(name: str) -> str:
    """The name of a file for kernel `name`, without its suffix: the name itself if that is plain, else one distinguished from others by a digest."""
    if _PLAIN.fullmatch(name):
        return name[:MOST_CHARACTERS]
    plain = re.sub(r"[^\w.$-]", "_", name, flags=re.ASCII)[: MOST_CHARACTERS - 9]
    return f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip(".")
