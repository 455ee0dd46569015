"""Result files that are in no lake: a log, several, a benchmark folder, a system's, a submitter's, a working tree.

Which files are read, and where a repository would hold each, belongs here; nothing is written and no link is followed
below what was named. What the files say does not belong here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from pipelines.parsing.layout import Placed, classify
from pipelines.parsing.log_keys import holds_event
from pipelines.parsing.published import PublishedFile
from pipelines.settings import Limits
from pipelines.sources.errors import SourceError, printable
from pipelines.sources.folders import Folder
from pipelines.sources.members import Member
from pipelines.sources.repository import repository_named

UNNAMED = "unnamed"
"""Submitter folder of files that lie in no submitter's."""

_RESULTS, _SYSTEMS = "results", "systems"
_LAUNCH_FOLDERS = ("benchmark", "benchmarks")
_LOG_NAMES = "result_*.txt"
_BENCHMARK = b'"submission_benchmark"'


@dataclass(frozen=True, slots=True)
class LooseFile:
    """One file, where it is and where a results repository would hold it."""

    shown: str
    """Path as the reader knows it: the one that was named, and what lies below it."""
    path: str
    """Path inside a results repository; made up for a file that lies in none."""
    kind: str | None
    """What a parser takes it for; None for a file outside the layout."""
    round: str | None
    """Round that a folder above names, such as training-v5.0."""
    root: str | None
    """Repository or working tree that it lies in; None for a file outside the layout of one."""
    read: Callable[[], bytes]

    def published(self, round_name: str) -> PublishedFile:
        """Return the file as of a round."""
        content = self.read()
        return PublishedFile(round_name, self.path, hashlib.sha256(content).hexdigest(), content)


@dataclass(frozen=True, slots=True)
class LooseTree:
    """What was found."""

    files: tuple[LooseFile, ...]
    """In the order of the arguments, then of the paths; each once."""
    skipped_links: int

    def of_kind(self, *kinds: str) -> Iterator[LooseFile]:
        """Give the files that those parsers read."""
        return (file for file in self.files if file.kind in kinds)

    def outside(self) -> Iterator[LooseFile]:
        """Give the files of a result or a system that no parser reads."""
        return (file for file in self.files if file.kind is None)


def find_files(paths: Iterable[Path], limits: Limits, *, with_launches: bool = False) -> LooseTree:
    """Find what the paths name, and the description, the factor and the launch files that belong to it.

    A path inside the layout of a results repository (SUBMITTER/results/SYSTEM/BENCHMARK) is read in its place: the
    system's description is taken from SUBMITTER/systems, the launch files from SUBMITTER/benchmarks/BENCHMARK. Any
    other folder is read as a benchmark's for each folder of logs in it: those named result_*.txt, or else every file
    that holds a log event. A single file is a log if it is named or holds what such a file is named or holds; one that
    ends in .json describes a system.

    Args:
        paths: Files and folders that exist.
        limits: What each folder may hold.
        with_launches: Whether the launch files of a result are looked for where only its logs were named.

    Raises:
        SourceError: a file cannot be read, or is more than the limits allow.
    """
    finder = _Finder(replace(limits, skip_links=True), with_launches=with_launches)
    for path in paths:
        finder.add(path)
    return LooseTree(tuple(_bound(list(finder.files.values()))), finder.skipped_links)


class _Finder:
    """Gathers files, each under the place where it is."""

    def __init__(self, limits: Limits, *, with_launches: bool) -> None:
        self.files: dict[Path, LooseFile] = {}
        self.skipped_links = 0
        self._limits = limits
        self._with_launches = with_launches
        self._systems: dict[str, Path] = {}
        self._launches: dict[Path, list[str]] = {}

    def add(self, path: Path) -> None:
        place = path.resolve()
        root = _root_above(place) or _root_at(place)
        found = self._in_layout(path, place, root) if root else []
        if not any(file.kind for file in found):
            found = self._loose_file(path, place) if place.is_file() else self._loose_folder(path, place)
        for file in found:
            self._keep(file)

    def _keep(self, file: LooseFile) -> None:
        self.files.setdefault(Path(file.shown).resolve(), file)

    def _in_layout(self, path: Path, place: Path, root: Path) -> list[LooseFile]:
        """Return what lies under the path, and what belongs to it, in the places of the repository at `root`."""
        inside = place.relative_to(root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        if place.is_file():
            found = [self._placed(str(path), inside, root, partial(self._read, place))]
        else:
            found = [
                self._placed(str(path / member.path), prefix + member.path, root, member.read)
                for member in self._members(place)
                if _is_of_a_submission(prefix + member.path)
            ]
        own = {file.path for file in found}
        companions = dict.fromkeys(other for file in found for other in self._companions(root, file))
        near = [(root / other, other) for other in companions if other not in own and (root / other).is_file()]
        shown = _shown_root(path, place, root)
        found += [self._placed(str(shown / other), other, root, partial(self._read, at)) for at, other in near]
        return found

    def _companions(self, root: Path, file: LooseFile) -> Iterator[str]:
        """Give the paths of the description, the factor and the launch files that belong to a result log."""
        placed = classify(file.path)
        if placed is None or placed.kind != "result_log":
            return
        yield f"{placed.submitter_folder}/{_SYSTEMS}/{placed.system}.json"
        yield str(PurePosixPath(file.path).with_name("scaling.json"))
        for folder in _LAUNCH_FOLDERS if self._with_launches else ():
            yield from self._launch_files(root, f"{placed.submitter_folder}/{folder}/{placed.benchmark}")

    def _launch_files(self, root: Path, folder: str) -> list[str]:
        """Return the launch files of a benchmark; all its logs ask for the same ones."""
        place = root / folder
        if place not in self._launches:
            is_there = place.is_dir() and not place.is_symlink()
            paths = [f"{folder}/{member.path}" for member in self._members(place)] if is_there else []
            self._launches[place] = [path for path in paths if _kind(path) in ("launch_config", "launch_note")]
        return self._launches[place]

    def _loose_file(self, path: Path, place: Path) -> list[LooseFile]:
        read = partial(self._read, place)
        if place.suffix == ".json":
            return [self._described(str(path), place, read)]
        if not place.match(_LOG_NAMES) and not holds_event(read()):
            return []
        return self._loose_logs(str(path.parent), place.parent, [(place.name, str(path), read)])

    def _loose_folder(self, path: Path, place: Path) -> list[LooseFile]:
        """Return the logs of a folder outside the layout, folder by folder, each as a benchmark's."""
        folders: dict[str, list[Member]] = {}
        for member in self._members(place):
            if not _is_power(member.path):
                folders.setdefault(member.path.rpartition("/")[0], []).append(member)
        found: list[LooseFile] = []
        for folder, members in folders.items():
            named = [member for member in members if PurePosixPath(member.path).match(_LOG_NAMES)]
            logs = named or [member for member in members if holds_event(member.read())]
            rows = [(member.path.rpartition("/")[2], str(path / member.path), member.read) for member in logs]
            found += self._loose_logs(str(path / folder), place / folder, rows)
            found += [
                self._described(str(path / member.path), place / member.path, member.read)
                for member in members
                if _is_description(member)
            ]
        return found

    def _loose_logs(
        self, shown: str, folder: Path, logs: list[tuple[str, str, Callable[[], bytes]]]
    ) -> list[LooseFile]:
        """Return logs of one folder as those of one benchmark of an unnamed submitter, its factor and power beside."""
        if not logs:
            return []
        benchmark = next((name for _, _, read in logs if (name := _benchmark_in(read()))), folder.name)
        mode = folder.parent.name if folder.parent.name in ("strong", "weak") else None
        above = folder.parent.parent if mode else folder.parent
        system = self._system_named(above.name if folder.name == benchmark else folder.name, folder)
        within = f"{mode}/{benchmark}" if mode else benchmark
        base = f"{UNNAMED}/{_RESULTS}/{system}/{within}"
        round_name = _round_of(folder)
        found = [
            LooseFile(text, f"{base}/{_log_name(name)}", "result_log", round_name, None, read)
            for name, text, read in logs
        ]
        factor = folder / "scaling.json"
        if factor.is_file() and not factor.is_symlink():
            path, read = f"{base}/scaling.json", partial(self._read, factor)
            text = str(Path(shown) / "scaling.json")
            found.append(LooseFile(text, path, "scaling_factor", round_name, None, read))
        found += self._loose_power(shown, folder, base, round_name)
        return found

    def _loose_power(self, shown: str, folder: Path, base: str, round_name: str | None) -> Iterator[LooseFile]:
        power = folder / "power"
        if not power.is_dir() or power.is_symlink():
            return
        for member in self._members(power):
            path = f"{base}/power/{member.path}"
            if _kind(path) == "power_log":
                text = str(Path(shown) / "power" / member.path)
                yield LooseFile(text, path, "power_log", round_name, None, member.read)

    def _described(self, shown: str, place: Path, read: Callable[[], bytes]) -> LooseFile:
        path = f"{UNNAMED}/{_SYSTEMS}/{_clean(place.stem)}.json"
        return LooseFile(shown, path, "system_description", _round_of(place.parent), None, read)

    def _system_named(self, name: str, folder: Path) -> str:
        """Return a name of its own for each folder of logs."""
        clean, number = _clean(name), 1
        name = clean
        while self._systems.setdefault(name, folder) != folder:
            number += 1
            name = f"{clean}~{number}"
        return name

    def _placed(self, shown: str, path: str, root: Path, read: Callable[[], bytes]) -> LooseFile:
        return LooseFile(shown, path, _kind(path), _round_of(root), str(root), read)

    def _members(self, folder: Path) -> Iterator[Member]:
        reader = Folder(folder, self._limits)
        yield from reader.members()
        self.skipped_links += reader.skipped_links

    def _read(self, place: Path) -> bytes:
        try:
            with place.open("rb") as file:
                content = file.read(self._limits.member_bytes + 1)
        except OSError as error:
            raise SourceError(str(place), None, "a readable file", str(error.strerror or error)) from error
        if len(content) > self._limits.member_bytes:
            limit = f"at most {self._limits.member_bytes} bytes (RACKRECON_MAX_MEMBER_BYTES)"
            raise SourceError(str(place), None, limit, "more")
        return content


def _bound(files: list[LooseFile]) -> list[LooseFile]:
    """Let a description outside the layout be that of the logs outside it, where there is one of either."""
    described = [file for file in files if file.root is None and file.kind == "system_description"]
    systems = {_system_of(file) for file in files if file.root is None and file.kind == "result_log"}
    if len(described) != 1 or len(systems) != 1:
        return files
    path = f"{UNNAMED}/{_SYSTEMS}/{systems.pop()}.json"
    return [replace(file, path=path) if file is described[0] else file for file in files]


def _system_of(file: LooseFile) -> str | None:
    placed = classify(file.path)
    return placed.system if placed else None


def _kind(path: str) -> str | None:
    placed: Placed | None = classify(path)
    return placed.kind if placed else None


def _is_of_a_submission(path: str) -> bool:
    """Say whether a file lies where results, descriptions or launch files do: the rest of a tree is nobody's matter."""
    parts = path.split("/")
    return len(parts) > 2 and (parts[1] in (_RESULTS, _SYSTEMS) or _kind(path) is not None)


def _root_above(place: Path) -> Path | None:
    """Return the repository that a path lies in: two folders above the last `results` or `systems`."""
    for above in (place, *place.parents):
        if above.name in (_RESULTS, _SYSTEMS) and len(above.parents) > 1:
            return above.parent.parent
    return None


def _root_at(place: Path) -> Path | None:
    """Return the repository that a folder is, or whose submitter it is."""
    if not place.is_dir():
        return None
    if (place / _RESULTS).is_dir() or (place / _SYSTEMS).is_dir():
        return place.parent
    return place if any((child / _RESULTS).is_dir() for child in place.iterdir() if child.is_dir()) else None


def _shown_root(path: Path, place: Path, root: Path) -> Path:
    """Return the root as the reader would write it: the path that was named, cut where it reaches the root."""
    depth = len(place.parts) - len(root.parts)
    parts = path.parts
    return Path(*parts[: len(parts) - depth]) if len(parts) >= depth and ".." not in parts else root


def _round_of(folder: Path) -> str | None:
    """Return the round that the nearest folder with a results repository's name states."""
    names = (repository_named(above.name) for above in (folder, *folder.parents))
    return next((name.round for name in names if name), None)


def _log_name(name: str) -> str:
    return _clean(name) if PurePosixPath(name).match(_LOG_NAMES) else f"result_{_clean(name)}.txt"


def _clean(name: str) -> str:
    return printable(name).replace("/", "_").strip(".") or UNNAMED


def _is_power(path: str) -> bool:
    """Say whether a file is a run's power log; those come with the logs above them."""
    below = "/".join(path.split("/")[-3:])
    return _kind(f"{UNNAMED}/{_RESULTS}/system/benchmark/{below}") == "power_log"


def _is_description(member: Member) -> bool:
    return member.path.endswith(".json") and b'"accelerators_per_node"' in member.read()


def _benchmark_in(content: bytes) -> str | None:
    """Return the benchmark that a log names; how an event is read belongs in `parsing`."""
    place = content.find(_BENCHMARK)
    if place < 0:
        return None
    line = content[place : content.find(b"\n", place) if b"\n" in content[place:] else None]
    value = line.partition(b'"value"')[2].partition(b'"')[2].partition(b'"')[0].decode("latin-1")
    return value if value.replace("_", "").isalnum() else None
