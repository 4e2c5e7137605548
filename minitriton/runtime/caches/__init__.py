"""What is stored between launches, processes and machines: files, entries per device, tuned configurations; and how it is cleared."""
