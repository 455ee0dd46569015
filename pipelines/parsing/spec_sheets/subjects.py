"""Which part or platform a specification names: the registry's subjects and every spelling that sources use.

A name that is not listed stays as printed and is reported; nothing is matched by likeness.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.parsing.quantities import plain


@dataclass(frozen=True, slots=True)
class Subject:
    """A part, a platform or a processor that the registry knows."""

    name: str
    kind: str
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Naming:
    """What one spelling stands for; `variant` is set where it names a configuration of the subject."""

    subject: Subject
    variant: str | None = None


@dataclass(slots=True)
class Subjects:
    """The subjects by every spelling; one spelling can stand for several of them."""

    namings: dict[str, list[Naming]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, subjects: Iterable[Subject], names: Iterable[tuple[str, str, str | None]]) -> Subjects:
        """Return the subjects under their own names and under `names`: spelling, subject, variant.

        Raises:
            KeyError: a spelling stands for a subject that is not listed.
        """
        known = {subject.name: subject for subject in subjects}
        made = cls()
        for subject in known.values():
            made.namings[_key(subject.name)].append(Naming(subject))
        for spelling, name, variant in names:
            made.namings[_key(spelling)].append(Naming(known[name], variant))
        return made

    def named(self, text: str) -> list[Naming]:
        """Return what a text names: nothing, one subject, or several."""
        return list(self.namings.get(_key(text), ()))


def _key(text: str) -> str:
    return plain(text).casefold()
