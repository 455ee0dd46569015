"""Conditions of shell texts: `[ ... ]`, `[[ ... ]]` and `test ...`, decided from known settings alone.

What asks the running system (a file, a command) cannot be told and has no outcome.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pipelines.parsing._shell_values import Scope, value_of


def outcome_of_test(words: list[str], scope: Scope) -> bool | None:
    """Return the outcome of `[ ... ]`, `[[ ... ]]` or `test ...`, None where it cannot be told."""
    inner = words[1:]
    if words[0] in ("[", "[["):
        if not inner or inner[-1] not in ("]", "]]"):
            return None
        inner = inner[:-1]
    outcome: bool | None = None
    joiner = ""
    for clause, following in _clauses(inner):
        value = _clause(clause, scope)
        if joiner in ("&&", "-a"):
            outcome = False if outcome is False or value is False else (None if None in (outcome, value) else True)
        elif joiner:
            outcome = True if outcome is True or value is True else (None if None in (outcome, value) else False)
        else:
            outcome = value
        joiner = following
    return outcome


def _clauses(words: list[str]) -> list[tuple[list[str], str]]:
    clauses: list[tuple[list[str], str]] = [([], "")]
    for word in words:
        if word in ("&&", "||", "-a", "-o"):
            clauses[-1] = (clauses[-1][0], word)
            clauses.append(([], ""))
        else:
            clauses[-1][0].append(word)
    return clauses


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}


def _clause(words: list[str], scope: Scope) -> bool | None:
    negations = next((index for index, word in enumerate(words) if word != "!"), len(words))
    outcome = _plain_clause(words[negations:], scope)
    return outcome if outcome is None or negations % 2 == 0 else not outcome


def _plain_clause(words: list[str], scope: Scope) -> bool | None:
    match words:
        case ["-z", word]:
            value = value_of(word, scope, unset_is_empty=True)
            return None if value is None else value == ""
        case ["-n", word] | [word]:
            value = value_of(word, scope, unset_is_empty=True)
            return None if value is None else value != ""
        case [left, "=" | "==" | "!=" as operator, right]:
            return _same(left, right, scope, wanted=operator != "!=")
        case [left, operator, right] if operator in _COMPARISONS:
            return _compare(operator, value_of(left, scope), value_of(right, scope))
        case _:
            return None


def _same(left: str, right: str, scope: Scope, *, wanted: bool) -> bool | None:
    values = value_of(left, scope), value_of(right, scope)
    if None in values or re.search(r"[*?\[]", right):
        return None
    return (values[0] == values[1]) is wanted


def _compare(operator: str, left: str | None, right: str | None) -> bool | None:
    numbers = [text for text in (left, right) if text is not None and re.fullmatch(r"-?\d{1,18}", text, re.ASCII)]
    return _COMPARISONS[operator](int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None
