"""From a call of a kernel to a launch: arguments bound and specialised, the binary loaded, the launch made."""
