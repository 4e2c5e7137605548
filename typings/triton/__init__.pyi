"""What minitriton uses of Triton (3.6.0), which has no types of its own and is not there for every system.

Kernels import it too: what they mean by it is minitriton's, which is compatible.
"""

from minitriton.runtime.jit import jit as jit

from . import language as language
