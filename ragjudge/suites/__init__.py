"""Suites: what to grade, by which metrics and judges, from one YAML file."""
