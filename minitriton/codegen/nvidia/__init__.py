"""What the code generator knows of NVIDIA GPUs: lowerings to the `nvvm` dialect, its text as inline PTX and intrinsics, libdevice."""
