"""Model files: what is known about them, where they are, how they come here, what they hold."""
