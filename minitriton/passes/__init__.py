"""Passes over TTIR and TTGIR, one a file; what takes several files is a folder. `all_passes` imports them, `pipelines` says in which order they run."""
