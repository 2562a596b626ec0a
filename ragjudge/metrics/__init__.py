"""Metrics: which questions a score needs, and what the answers are worth. They never talk to a judge."""
