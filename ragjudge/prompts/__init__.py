"""What a judge is asked: one YAML file per template and version, and how its answers are read."""
