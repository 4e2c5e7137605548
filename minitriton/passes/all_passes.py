"""Imports every module that registers a pass, so that all are known by name.

Importing this module is what `minitriton passes`, `minitriton-opt` and the pipelines do before they look a pass up.
"""

from __future__ import annotations

import minitriton.passes.canonicalize
import minitriton.passes.cse
import minitriton.passes.inline
import minitriton.passes.symbol_dce  # noqa: F401
