"""What a compile is made of: its sources, the stages it ends in, pipelines as text, stages taken from files, dumps, the parts that are kept."""
