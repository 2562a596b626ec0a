"""How many tokens the memory is opened for. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY_STEP = 1024
"""The memory grows in steps of this many tokens, so that it is not opened anew for each longer prompt."""

CELLS_PADDING = 256
"""llama.cpp rounds the number of tokens up to a multiple of this."""


@dataclass(frozen=True)
class Room:
    """The sizes of memory that one judge may open.

    Some models turn tokens by one set of rope factors up to a context length and by another one beyond, and
    llama.cpp chooses by the size of the memory. The same prompt would then get another answer beside a longer
    one. So the window alone decides which set is meant, and every memory is of a size that means that one.

    Attributes:
        window: Longest prompt in tokens.
        rope_switch: The largest size with the short factors; None = the size does not matter.
    """

    window: int
    rope_switch: int | None = None

    @property
    def long_factors(self) -> bool:
        """Whether the long factors are used."""
        return self.rope_switch is not None and _up(self.window) > self.rope_switch

    def cells(self, longest: int, batch: int = 0) -> int:
        """Return the size to be opened: in steps, and never more than the window and a batch can fill.

        Args:
            longest: Tokens of the longest prompt, with those that are written after it.
            batch: Tokens decoded beside it. They have no room of their own where the prompts fill the
                window and the size must mean the short factors: plans then have smaller batches.
        """
        steps = -(-(longest + batch) // MEMORY_STEP) * MEMORY_STEP
        size = min(steps, _up(max(self.window, longest) + batch))
        if self.rope_switch is None:
            return size
        short = self.rope_switch // CELLS_PADDING * CELLS_PADDING
        return max(size, short + CELLS_PADDING) if self.long_factors else min(size, short)


def _up(tokens: int) -> int:
    return -(-tokens // CELLS_PADDING) * CELLS_PADDING
