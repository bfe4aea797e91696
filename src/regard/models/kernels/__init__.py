"""Kernels of our own, where a measurement asked for them; each has a plain way beside it, and needs Triton."""
