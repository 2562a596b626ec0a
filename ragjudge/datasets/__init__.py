"""From data files and rows of many dialects to samples."""
