"""Found as `triton` where this package's folder is on the path: replaces itself in `sys.modules` by minitriton.

PYTHONPATH=.../minitriton/as_triton/_alias python -c "import triton; print(triton.__name__)"    →    minitriton
"""

import importlib
import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("minitriton") is None:
    sys.path.append(str(Path(__file__).parents[4]))

del sys.modules["triton"]
importlib.import_module("minitriton.as_triton.run_as_triton").install()
importlib.import_module("triton")
