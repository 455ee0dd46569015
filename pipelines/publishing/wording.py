"""Words that the headline of a refresh and the report share."""

from __future__ import annotations

_PER_GPU = " (per GPU)"


def counted_part(count: int | None, accelerator: str | None) -> str:
    """Return a count with the part that is counted: `2,496 GB200 GPUs` for a part of which each GPU counts.

    Args:
        count: Accelerators, None where no source tells them.
        accelerator: Canonical name of the part, None where it is not known.
    """
    told = "an untold number of" if count is None else f"{count:,}"
    if accelerator is None:
        return f"{told} accelerators"
    if accelerator.endswith(_PER_GPU):
        return f"{told} {accelerator.removesuffix(_PER_GPU)} GPUs"
    return f"{told} {accelerator}"
