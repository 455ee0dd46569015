"""What accelerators are called: only some of them are GPUs, so a count of TPUs is told in chips.

Texts name all of them GPUs, chips or cards; what is known of a part decides what a reader is told.
"""

from __future__ import annotations

import re

COUNTED_ACCELERATORS = "GPUs"
"""Unit under which a count of accelerators is read, whatever the text calls them."""

NEUTRAL = "accelerators"
"""What they are called where parts of several kinds are meant, or none is named."""

_NOUNS = (
    (re.compile(r"TPU|Trainium|Trn\d"), "chips"),
    (re.compile(r"Ascend|CloudMatrix|Atlas"), "NPUs"),
    (re.compile(r"\bIPU\b"), "IPUs"),
    (re.compile(r"Gaudi|\bPPU\b|Panjiu|^any\b"), NEUTRAL),
)


def accelerator_noun(name: str) -> str:
    """Return what the accelerators of a part or product are called, by its name: chips, NPUs, IPUs, GPUs."""
    return next((noun for pattern, noun in _NOUNS if pattern.search(name)), COUNTED_ACCELERATORS)
