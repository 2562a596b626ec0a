"""Judges: what answers checks and prompts. They know nothing of metrics, caches or files of results."""
