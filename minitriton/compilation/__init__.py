"""A compile, without cache and device: what is compiled, the stages it goes through, pipelines as text, stages taken from files, dumps."""
