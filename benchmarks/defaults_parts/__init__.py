"""The parts of benchmarks/defaults.py."""
