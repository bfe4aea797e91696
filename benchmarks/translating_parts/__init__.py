"""The parts of benchmarks/translating.py."""
