"""Which part or platform a specification names: the registry's subjects and every spelling that sources use.

A name that is not listed stays as printed and is reported; nothing is matched by likeness.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.parsing.names import canonical_accelerator
from pipelines.parsing.quantities import plain


@dataclass(frozen=True, slots=True)
class Subject:
    """A part, a platform or a processor that the registry knows."""

    name: str
    kind: str
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class Naming:
    """What one spelling stands for; `variant` is set where it names a memory configuration of the subject."""

    subject: Subject
    variant: str | None = None


@dataclass(slots=True)
class Subjects:
    """The subjects, and those that each further spelling stands for; one spelling can stand for several."""

    known: dict[str, Subject] = field(default_factory=dict)
    spellings: dict[str, list[Naming]] = field(default_factory=lambda: defaultdict(list))

    def add(self, subjects: Iterable[Subject]) -> None:
        """Add subjects under their own names."""
        for subject in subjects:
            self.known[subject.name] = subject
            self.spellings[_key(subject.name)].append(Naming(subject))

    def add_spelling(self, spelling: str, name: str, variant: str | None = None) -> None:
        """Let a spelling stand for a subject that is listed.

        Raises:
            KeyError: no subject has that name.
        """
        naming = Naming(self.known[name], variant)
        if naming not in self.spellings[_key(spelling)]:
            self.spellings[_key(spelling)].append(naming)

    def named(self, text: str) -> list[Naming]:
        """Return what a text names: nothing, one subject, or several.

        Spellings of results repositories are understood as well as those listed here.
        """
        listed = self.spellings.get(_key(text), [])
        if listed:
            return list(listed)
        part = canonical_accelerator(text)
        return [Naming(self.known[part])] if part in self.known else []


def _key(text: str) -> str:
    return plain(text).casefold()
