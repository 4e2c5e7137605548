"""From the syntax tree of a `@jit` function to TTIR: `function` takes a kernel, `generator` walks it, `semantic` emits."""
