"""Words of a shell text to values: quotes, `$NAME`, `${NAME:-word}`, `$((A * B))`, and where a script stands.

Nothing is executed: a word whose value depends on anything but known settings has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.parsing._arithmetic import whole_number
from pipelines.parsing._shell_words import end_of_group

LONGEST_VALUE = 4_096
DEEPEST_EXPANSION = 16

HERE = "//"
"""What a path that starts at the root of the repository begins with."""

UNSET = "unset"
UNKNOWN = "unknown"

_SIMPLE = re.compile(r"[^'\"\\$`]+")
_SIMPLE_IN_QUOTES = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OPERATED = re.compile(r"([A-Za-z_]\w*)(?:\[0\])?(:?[-=+?])?(.*)", re.ASCII | re.DOTALL)
_SCRIPT = r"[\"']?\$(?:\{BASH_SOURCE(?:\[0\])?\}|BASH_SOURCE|0|\{0\})[\"']?"
_SCRIPT = rf"(?:{_SCRIPT}|[\"']?\$\((?:readlink\s+-f|realpath)\s+(?:--\s+)?{_SCRIPT}\)[\"']?)"
_DIRECTORY_OF_SCRIPT = re.compile(rf"\s*dirname\s+(?:--\s+)?{_SCRIPT}\s*")
_REAL_DIRECTORY_OF_SCRIPT = re.compile(
    rf"\s*cd\s+(?:-P\s+)?(?:--\s+)?[\"']?\$\(\s*dirname\s+(?:--\s+)?{_SCRIPT}\s*\)[\"']?"
    r"\s*(?:>\s*/dev/null\s*(?:2>&1)?|&>\s*/dev/null)?\s*(?:&&|;)\s*pwd(?:\s+-P)?\s*"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a word may refer to."""

    state_of: Callable[[str], tuple[str, str]]
    """State of a name: (`UNSET`, ""), (`UNKNOWN`, "") or ("set", its value)."""
    assign: Callable[[str, str | None], None]
    """Takes a name that `${NAME:=word}` sets and its value."""
    script: str
    """Path of the text inside the repository."""


def value_of(word: str, scope: Scope, *, unset_is_empty: bool = False) -> str | None:
    """Return the value of a word as written.

    Args:
        word: One word of a command, quotes included.
        scope: The names it may refer to.
        unset_is_empty: Read a name that nothing sets as empty, as a shell does, rather than as not known.

    Returns:
        The value, None where it cannot be told or exceeds a bound.
    """
    return _Expander(scope, unset_is_empty=unset_is_empty).expand(word, 0, in_quotes=False)


class _Expander:
    """Expands one word."""

    def __init__(self, scope: Scope, *, unset_is_empty: bool) -> None:
        self.scope = scope
        self.unset_is_empty = unset_is_empty

    def expand(self, text: str, depth: int, *, in_quotes: bool) -> str | None:
        if depth > DEEPEST_EXPANSION or len(text) > LONGEST_VALUE:
            return None
        parts: list[str] = []
        position = 0
        while position < len(text):
            simple = (_SIMPLE_IN_QUOTES if in_quotes else _SIMPLE).match(text, position)
            end = simple.end() if simple else self.end(text, position)
            part = simple[0] if simple else self.part(text[position:end], depth, in_quotes=in_quotes)
            if part is None:
                return None
            parts.append(part)
            position = end
        value = "".join(parts)
        return value if len(value) <= LONGEST_VALUE else None

    def end(self, text: str, position: int) -> int:
        if text[position] == "$" and text[position + 1 : position + 2] not in ("(", "{"):
            name = _NAME.match(text, position + 1)
            return name.end() if name else position + 2
        end = end_of_group(text, position)
        return len(text) if end < 0 else end

    def part(self, part: str, depth: int, *, in_quotes: bool) -> str | None:
        if part.startswith("\\"):
            return self.escaped(part[1:], in_quotes=in_quotes)
        if part.startswith('"'):
            return self.expand(part[1:-1], depth + 1, in_quotes=True)
        if part.startswith("'"):
            return part[1:-1]
        if part.startswith("$(("):
            inner = self.expand(part[3:-2], depth + 1, in_quotes=True)
            number = None if inner is None else whole_number(inner, self.named)
            return None if number is None else str(number)
        if part.startswith("$("):
            return self.command_output(part[2:-1])
        if part.startswith("${"):
            return self.operated(part[2:-1], depth)
        return self.named(part[1:]) if _NAME.fullmatch(part, 1) else None

    def escaped(self, character: str, *, in_quotes: bool) -> str:
        if character in ("\n", "\r\n"):
            return ""
        return f"\\{character}" if in_quotes and character not in ("$", "`", '"', "\\") else character

    def command_output(self, command: str) -> str | None:
        if _DIRECTORY_OF_SCRIPT.fullmatch(command) or _REAL_DIRECTORY_OF_SCRIPT.fullmatch(command):
            return HERE + self.scope.script.rpartition("/")[0]
        return None

    def operated(self, content: str, depth: int) -> str | None:
        found = _OPERATED.fullmatch(content)
        if found is None or (found[3] and not found[2]):
            return None
        name, operator, word = found[1], found[2] or "", found[3]
        if not operator:
            return self.named(name)
        state, value = self.scope.state_of(name)
        if state == UNKNOWN:
            return None
        is_set = state == "set" and (bool(value) or not operator.startswith(":"))
        if operator.endswith("+"):
            return self.expand(word, depth + 1, in_quotes=False) if is_set else ""
        if is_set:
            return value
        if operator.endswith("?"):
            return None
        default = self.expand(word, depth + 1, in_quotes=False)
        if operator.endswith("="):
            self.scope.assign(name, default)
        return default

    def named(self, name: str) -> str | None:
        if name == "BASH_SOURCE":
            return HERE + self.scope.script
        state, value = self.scope.state_of(name)
        if state == UNSET and self.unset_is_empty:
            return ""
        return value if state == "set" else None
