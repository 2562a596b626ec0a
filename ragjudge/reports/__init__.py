"""Everything that turns a finished report into bytes or lines. Reads records, knows nothing else.

A new file format is one module with a function ``render(report) -> str`` and one line in
`registry.FORMATS`.
"""
