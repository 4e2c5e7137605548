"""Which CTA of a cluster holds which part of each tensor (`triton-nvidia-gpu-plan-cta`)."""
