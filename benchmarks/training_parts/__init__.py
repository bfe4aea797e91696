"""The parts of benchmarks/training_gpu.py, one file each, and what they share."""
