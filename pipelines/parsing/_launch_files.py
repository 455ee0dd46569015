"""The published launch files by round, submitter and benchmark; a configuration is evaluated when it is asked for.

Which file is which belongs here; what a file says belongs in `_launch_settings`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.parsing._launch_choice import Note
from pipelines.parsing._launch_settings import Configuration
from pipelines.parsing._shell import ShellReader
from pipelines.parsing.layout import classify
from pipelines.parsing.names import canonical_benchmark
from pipelines.parsing.published import PublishedFile

_DATE_AT_END = re.compile(r"[._-]\d[\d._-]*$")

LONGEST_NOTE = 200_000
"""Characters of a note that are read."""


@dataclass(slots=True)
class OfBenchmark:
    """What one submitter published on launching one benchmark."""

    configurations: list[Configuration] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    other_scripts: list[str] = field(default_factory=list)
    """Paths of scripts that are no configuration."""


class LaunchFiles:
    """The launch files of any number of rounds."""

    def __init__(self, files: Iterable[PublishedFile]) -> None:
        """Take published files; those that are no launch configuration or note are passed over."""
        self._files: dict[str, dict[str, PublishedFile]] = defaultdict(dict)
        self._paths: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        self._ready: dict[tuple[str, str, str], OfBenchmark] = {}
        self._readers: dict[str, ShellReader] = {}
        for file in files:
            placed = classify(file.path)
            if placed is not None and placed.kind in ("launch_config", "launch_note"):
                self._files[file.round][file.path] = file
                self._paths[file.round, placed.submitter_folder or "", placed.benchmark or ""].append(file.path)

    def of_benchmark(self, round_name: str, submitter_folder: str, benchmark: str) -> OfBenchmark:
        """Return what a submitter published on launching a benchmark.

        Of its own folder and those that mean it too: the first with a configuration, else the first with a script.
        """
        key = (round_name, submitter_folder, benchmark)
        if key not in self._ready:
            own = self._read(round_name, sorted(self._paths.get(key, [])))
            others = [] if own.configurations else self._other_folders(*key)
            found = [
                own,
                *(self._read(round_name, sorted(self._paths[round_name, submitter_folder, one])) for one in others),
            ]
            with_scripts = [one for one in found if one.other_scripts]
            with_configurations = [one for one in found if one.configurations]
            self._ready[key] = [*with_configurations, *with_scripts, own][0]
        return self._ready[key]

    def _other_folders(self, round_name: str, submitter_folder: str, benchmark: str) -> list[str]:
        """Return the folders that mean a benchmark without being called like it: `gpt3.4.28`, `ft-llm`."""
        folders = [
            folder for one, submitter, folder in self._paths if (one, submitter) == (round_name, submitter_folder)
        ]
        meaning = {
            folder: canonical_benchmark(_DATE_AT_END.sub("", folder)) for folder in folders if folder != benchmark
        }
        return sorted(folder for folder, name in meaning.items() if name == canonical_benchmark(benchmark))

    def _read(self, round_name: str, paths: list[str]) -> OfBenchmark:
        found = OfBenchmark()
        for path in paths:
            file = self._files[round_name][path]
            if path.lower().endswith(".md"):
                found.notes.append(Note(path, _text(file)[:LONGEST_NOTE]))
            elif path.rpartition("/")[2].startswith("config"):
                found.configurations.append(Configuration(path, file.sha256, self._reader(round_name).evaluate(path)))
            else:
                found.other_scripts.append(path)
        return found

    def _reader(self, round_name: str) -> ShellReader:
        if round_name not in self._readers:
            files = self._files[round_name]

            def text_at(path: str) -> str | None:
                return _text(files[path]) if path in files else None

            self._readers[round_name] = ShellReader(text_at)
        return self._readers[round_name]


def _text(file: PublishedFile) -> str:
    return file.content.decode("utf-8", errors="replace")
