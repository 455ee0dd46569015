"""Launch configurations (shell texts that set names and include one another) to the settings that they leave behind.

Assignments, includes and conditions are followed as a shell would with nothing set beforehand; no command is run. What
only a running system could tell, a condition on it included, leaves the names that it touches without a value.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from pipelines.parsing._shell_conditions import outcome_of_test
from pipelines.parsing._shell_values import HERE, UNKNOWN, UNSET, Scope, value_of
from pipelines.parsing._shell_words import Command, UnterminatedError, commands

MOST_COMMANDS = 50_000
"""Commands that are followed from one configuration, includes counted in."""
MOST_INCLUDES = 64
DEEPEST_INCLUDE = 16
MOST_PROBLEMS = 100
LONGEST_TEXT = 2_000_000
"""Characters of one text that are read."""
LONGEST_QUOTE = 200
"""Characters of a command that a problem quotes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The last setting of a name."""

    value: str | None
    """None where the value cannot be told."""
    path: str
    line: int
    written: str
    """The command that sets it, as written."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be followed."""

    kind: str
    path: str
    line: int
    explanation: str
    found: str


_INCLUDES_NOT_FOLLOWED = frozenset({"launch.missing_include", "launch.too_many_includes", "launch.too_many_commands"})


@dataclass(slots=True)
class Evaluated:
    """What a configuration leaves behind."""

    settings: dict[str, Setting] = field(default_factory=dict)
    """By name, the one that was set last at the end."""
    problems: list[Problem] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    """Files that were included, in order."""

    @property
    def missing(self) -> list[str]:
        """Return the file names of the includes that are not published."""
        missing = [problem.found for problem in self.problems if problem.kind == "launch.missing_include"]
        return [found.strip("\"'").rpartition("/")[2] for found in missing]

    @property
    def misses_includes(self) -> bool:
        """Say whether a setting may stand in a file that is not published."""
        return any(problem.kind in _INCLUDES_NOT_FOLLOWED for problem in self.problems)


class ShellReader:
    """Evaluates the configurations of one repository; each text is split into commands once."""

    def __init__(self, text_at: Callable[[str], str | None]) -> None:
        """Take a function that gives the text at a path, None where no such file is published."""
        self._text_at = text_at
        self._split: dict[str, tuple[list[Command], UnterminatedError | None]] = {}

    def evaluate(self, path: str) -> Evaluated:
        """Return what the configuration at `path` leaves behind."""
        return _Evaluation(self, path).run()

    def is_published(self, path: str) -> bool:
        """Say whether a text stands at `path`."""
        return self._text_at(path) is not None

    def split(self, path: str) -> tuple[list[Command], UnterminatedError | None]:
        """Return the commands of a text, and where it stops to be readable."""
        if path not in self._split:
            found: list[Command] = []
            error = None
            try:
                for command in commands((self._text_at(path) or "")[:LONGEST_TEXT]):
                    found.append(command)
                    if len(found) > MOST_COMMANDS:
                        break
            except UnterminatedError as unterminated:
                error = unterminated
            self._split[path] = (found, error)
        return self._split[path]


RUN, UNSURE, SKIP = 0, 1, 2
"""Whether the commands of a block take effect, may do so, or do not."""


@dataclass(slots=True)
class _Block:
    """A block that is open: its kind, whether its commands take effect, and whether a branch was taken."""

    kind: str
    outer: int
    mode: int
    taken: bool | None = False


_OPENERS = {"if": "if", "for": "loop", "while": "loop", "until": "loop", "select": "loop", "case": "case", "{": "group"}
_CLOSERS = {"fi": "if", "done": "loop", "esac": "case", "}": "group"}
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]{0,100}\])?(\+?=)(.*)", re.ASCII | re.DOTALL)
_DECLARATIONS = frozenset({"export", "declare", "typeset", "readonly", "local"})
_NAMES = re.compile(r"(?<!\w)[A-Za-z_]\w*", re.ASCII)
_CHANGES_A_NAME = re.compile(r"(?<![=<>!])=(?!=)|\+\+|--")
_LONGEST_READ = 2_000
_KEYWORDS = frozenset({*_OPENERS, *_CLOSERS, "then", "elif", "else", "do", "!", "function"})


class _Evaluation:
    """One walk through a configuration and its includes."""

    def __init__(self, reader: ShellReader, path: str) -> None:
        self.reader = reader
        self.path = path
        self.result = Evaluated()
        self.commands_left = MOST_COMMANDS
        self.open_files: list[str] = []

    def run(self) -> Evaluated:
        self.follow(self.path, RUN)
        return self.result

    def problem(self, kind: str, line: int, explanation: str, found: str) -> None:
        if len(self.result.problems) < MOST_PROBLEMS:
            self.result.problems.append(Problem(kind, self.open_files[-1], line, explanation, found[:LONGEST_QUOTE]))

    def follow(self, path: str, mode: int) -> None:
        self.open_files.append(path)
        found, error = self.reader.split(path)
        _Walk(self, path, mode).through(found)
        if error is not None:
            self.problem("launch.unterminated", error.line, "A quote or bracket is never closed", str(error))
        self.open_files.pop()

    def is_spent(self, command: Command) -> bool:
        """Count a command, and say whether no more are followed."""
        self.commands_left -= 1
        if self.commands_left == -1:
            text = f"More than {MOST_COMMANDS} commands are not followed"
            self.problem("launch.too_many_commands", command.line, text, " ".join(command.words))
        return self.commands_left < 0

    def scope(self, path: str, assign: Callable[[str, str | None], None]) -> Scope:
        return Scope(self.state_of, assign, path)

    def state_of(self, name: str) -> tuple[str, str]:
        setting = self.result.settings.get(name)
        if setting is None:
            return UNSET, ""
        return (UNKNOWN, "") if setting.value is None else ("set", setting.value)

    def assign(self, setting: Setting, name: str, mode: int) -> None:
        if mode == SKIP:
            return
        before = self.result.settings.get(name)
        if mode == UNSURE and (before is None or before.value is None or before.value != setting.value):
            setting = Setting(None, setting.path, setting.line, setting.written)
        elif mode == UNSURE:
            return
        self.result.settings.pop(name, None)
        self.result.settings[name] = setting

    def include(self, word: str, line: int, mode: int, scope: Scope) -> None:
        target = self.include_target(word, scope)
        if target is None:
            self.problem("launch.missing_include", line, "An included file is not published", word)
        elif target in self.open_files:
            self.problem("launch.cyclic_include", line, "A file includes itself; the include is passed over", word)
        elif len(self.result.includes) >= MOST_INCLUDES or len(self.open_files) > DEEPEST_INCLUDE:
            text = f"More than {MOST_INCLUDES} includes, or {DEEPEST_INCLUDE} inside one another, are not followed"
            self.problem("launch.too_many_includes", line, text, word)
        else:
            self.result.includes.append(target)
            self.follow(target, mode)

    def include_target(self, word: str, scope: Scope) -> str | None:
        """Return the published file that an include names.

        A path is tried beside the including file, then beside the configuration and in the folders above it up to the
        benchmark's, because a script is sourced from its implementation's folder. A folder that cannot be told is
        taken to be that of the script.
        """
        value = value_of(word, scope)
        if value is None:
            value = re.split(r"[/\s]", word.strip("\"'"))[-1]
            if not re.fullmatch(r"[\w.+-]+", value):
                return None
        if value.startswith(HERE):
            places = [""]
            value = value.removeprefix(HERE)
        else:
            top = posixpath.dirname(self.path).split("/")
            above = ["/".join(top[:depth]) for depth in range(len(top), 2, -1)]
            places = list(dict.fromkeys([posixpath.dirname(scope.script), posixpath.dirname(self.path), *above]))
        paths = [posixpath.normpath(posixpath.join(place, value)).lstrip("/") for place in places]
        return next((path for path in paths if self.reader.is_published(path)), None)


class _Walk:
    """The walk through the commands of one text."""

    def __init__(self, evaluation: _Evaluation, path: str, mode: int) -> None:
        self.evaluation = evaluation
        self.path = path
        self.blocks: list[_Block] = []
        self.base = mode
        self.status: bool | None = True
        self.names_function = False

    @property
    def mode(self) -> int:
        return self.blocks[-1].mode if self.blocks else self.base

    def through(self, found: list[Command]) -> None:
        before = "\n"
        for command in found:
            if not command.words and command.separator == "\n":
                continue
            if self.evaluation.is_spent(command):
                return
            self.step(command, before)
            before = command.separator

    def step(self, command: Command, before: str) -> None:
        start = 0
        while start < len(command.words) and command.words[start] in _KEYWORDS:
            word = command.words[start]
            start += 1
            if word == "function":
                self.names_function = True
                start += 1
            elif self.keyword(word, command, start):
                start = len(command.words)
        if start < len(command.words):
            self.names_function = False
            self.run(command, start, before)
        if command.separator == "(":
            self.open("function" if command.words else "subshell", SKIP)
        elif command.separator == ")" and self.blocks and self.blocks[-1].kind in ("subshell", "function"):
            self.names_function = self.blocks.pop().kind == "function"

    def open(self, kind: str, mode: int) -> None:
        self.blocks.append(_Block(kind, self.mode, max(self.mode, mode)))

    def keyword(self, word: str, command: Command, start: int) -> bool:
        """Open, turn or close a block; say whether the rest of the command is no command of its own."""
        if word in _OPENERS:
            self.open_block(_OPENERS[word])
            if word in ("for", "select"):
                self.assign_unknown(command.words[start : start + 1], command)
            return word in ("for", "select", "case")
        if word in _CLOSERS:
            if self.blocks and self.blocks[-1].kind == _CLOSERS[word]:
                self.blocks.pop()
        elif self.blocks and self.blocks[-1].kind == "if":
            self.turn(self.blocks[-1], word)
        return False

    def open_block(self, kind: str) -> None:
        is_body = kind == "group" and self.names_function
        self.names_function = False
        self.open(kind, UNSURE if kind in ("loop", "case") or is_body else RUN)

    def turn(self, block: _Block, word: str) -> None:
        """Go to the next part of an `if`."""
        unless_taken = SKIP if block.taken else RUN if block.taken is False else UNSURE
        if word in ("elif", "else"):
            block.mode = max(block.outer, unless_taken)
        elif word == "then":
            condition = self.status
            by_condition = RUN if condition else SKIP if condition is False else UNSURE
            block.mode = max(block.outer, unless_taken, by_condition)
            if not block.taken and condition is not False:
                block.taken = condition

    def run(self, command: Command, start: int, before: str) -> None:
        """Run the command that starts at a word, as far as what stands before it lets it."""
        if command.separator in ("|", "|&") or before in ("|", "|&"):
            self.status = None
            return
        is_linked = before in ("&&", "||")
        if is_linked and self.status is not None and self.status is not (before == "&&"):
            return
        is_unsure = is_linked and self.status is None
        status = self.effect(list(command.words[start:]), command, max(self.mode, UNSURE if is_unsure else RUN))
        if "!" in command.words[:start] and status is not None:
            status = not status
        self.status = None if is_unsure else status

    def effect(self, words: list[str], command: Command, mode: int) -> bool | None:
        """Take the effect of one command and return whether it succeeds, None where that cannot be told."""
        written = " ".join(command.words)
        scope = self.evaluation.scope(self.path, partial(self.default, command.line, written, mode))
        first = words[0]
        if all(_ASSIGNMENT.fullmatch(word) for word in words):
            self.assign_all(words, command, mode, scope)
            return True
        if first in _DECLARATIONS:
            self.assign_all(words[1:], command, mode, scope)
            return True
        if first == "unset":
            for name in words[1:]:
                self.unset(name, command, mode)
            return True
        if first in ("source", ".") and len(words) > 1:
            if mode != SKIP:
                self.evaluation.include(words[1], command.line, mode, scope)
            return True
        if first in ("[", "[[", "test"):
            return None if mode == SKIP else outcome_of_test(words, scope)
        if first in (":", "true"):
            for word in words[1:] if mode != SKIP else []:
                value_of(word, scope)
            return True
        if first == "false":
            return False
        if first in ("let", "eval", "read") or (
            first.startswith("((") and _CHANGES_A_NAME.search(first[:_LONGEST_READ])
        ):
            self.assign_unknown(_NAMES.findall(written[:_LONGEST_READ]), command)
        return None

    def assign_unknown(self, names: Iterable[str], command: Command) -> None:
        for name in names:
            self.evaluation.assign(Setting(None, self.path, command.line, " ".join(command.words)), name, self.mode)

    def assign_all(self, words: list[str], command: Command, mode: int, scope: Scope) -> None:
        for word in words if mode != SKIP else []:
            found = _ASSIGNMENT.fullmatch(word) or _ASSIGNMENT.fullmatch(value_of(word, scope) or "")
            if found is None:
                continue
            name, operator, written = found.groups()
            is_array = written.startswith("(") or "[" in found.string[: found.start(2)]
            value = None if is_array else value_of(written, scope)
            if operator == "+=" and value is not None:
                state, before = self.evaluation.state_of(name)
                value = None if state == UNKNOWN else before + value
            self.evaluation.assign(Setting(value, self.path, command.line, word), name, mode)

    def default(self, line: int, written: str, mode: int, name: str, value: str | None) -> None:
        self.evaluation.assign(Setting(value, self.path, line, written), name, mode)

    def unset(self, name: str, command: Command, mode: int) -> None:
        if mode == RUN:
            self.evaluation.result.settings.pop(name, None)
        elif mode == UNSURE and name in self.evaluation.result.settings:
            written = " ".join(command.words)
            self.evaluation.assign(Setting(None, self.path, command.line, written), name, mode)
