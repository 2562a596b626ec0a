"""Measurements of speed and memory: ``python -m tests.benchmarks --help``. Nothing here is a test."""
