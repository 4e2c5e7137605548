"""Many pipelines over a kernel: which are legal, which are right, and what each gives.

In: tasks (kernels with inputs) and configurations of a `Space` (pipelines). Out: a record a configuration, kept in a `Store`.

    states         what passes make of it, each step of each state run once, however many pipelines contain it
    correctness    the PTX at the end on the emulator: class and counts
    space          which pipelines there are: drawn, listed, changed, as text
    store          records in SQLite, written by many processes, never twice
    sweep          all of it over processes, resumable
"""
