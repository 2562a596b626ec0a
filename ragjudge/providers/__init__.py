"""Systems under test: where the outputs to grade come from."""
