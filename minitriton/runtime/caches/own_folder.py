"""The folder that this user's cache is in: what comes out of it is run, so nobody else may have written there.

    own_folder("/home/me/.cache/minitriton")   →  the same: mine, and no others may write
    own_folder("/scratch/shared")              →  /scratch/shared/user-1000, for me alone, where others may write there
    own_folder("/home/you/.cache")             →  a temporary folder, until this process ends, and a warning

A folder of the superuser's that others may not write either is taken as it is: an image of a container may bring compiled kernels.
"""

from __future__ import annotations

import atexit
import functools
import os
import stat
import warnings
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_folder(root: str) -> Path:
    """The folder to use for `root`; it need not be there where nothing can be written at all."""
    return _found(root, os.geteuid()) if hasattr(os, "geteuid") else Path(root)


def writable_folder(root: str) -> Path:
    """The same, where it can be written; else a temporary one."""
    folder = own_folder(root)
    return folder if os.access(folder, os.W_OK) else temporary_folder(root, "it cannot be written")


@functools.cache
def _found(root: str, user: int) -> Path:
    try:
        os.makedirs(root, mode=0o755, exist_ok=True)
        found = os.stat(root)
        if found.st_uid in (user, 0) and not found.st_mode & _WRITABLE_BY_OTHERS and os.access(root, os.R_OK | os.X_OK):
            return Path(root)
        mine = Path(root) / f"user-{user}"
        mine.mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(mine)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & _WRITABLE_BY_OTHERS:
            return mine
        why = f"{mine} belongs to another user"
    except OSError as error:
        why = f"{error.strerror}: {error.filename}" if error.filename else str(error)
    return temporary_folder(root, why)


@functools.cache
def temporary_folder(root: str, why: str) -> Path:
    """A folder until this process ends, in place of `root`, which is said once."""
    import tempfile

    warnings.warn(
        f"the cache folder {root} cannot be used ({why}): what is compiled is kept until this process ends. "
        "Set TRITON_CACHE_DIR to a folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )
    folder = tempfile.mkdtemp(prefix="minitriton-cache-")
    atexit.register(_remove, folder, os.getpid())
    return Path(folder)


def _remove(folder: str, owner: int) -> None:
    import shutil

    if os.getpid() == owner:  # not a process that was copied from it
        shutil.rmtree(folder, ignore_errors=True)
