"""Texts in pieces: sentences, claims and words, with offsets into the original text."""
