"""Passes over TTIR and TTGIR, one a file; what takes several files is a folder. `names` says which module has which, `pipelines` says in which order they run."""
