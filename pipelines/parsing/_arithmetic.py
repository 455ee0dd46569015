"""Whole-number arithmetic of shell configurations (`$((A * B))`), evaluated over a bounded tree of its own.

Only integers, the four operations, remainder and brackets belong here; anything else has no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LARGEST_NUMBER = 2**63 - 1
DEEPEST_NESTING = 32
LONGEST_EXPRESSION = 1_000

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|\$?\{?(?P<name>[A-Za-z_]\w*)\}?|(?P<operator>[-+*/%()]))")
_OPERATIONS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "+": (1, lambda left, right: left + right),
    "-": (1, lambda left, right: left - right),
    "*": (2, lambda left, right: left * right),
    "/": (2, lambda left, right: _toward_zero(left, right)),
    "%": (2, lambda left, right: left - right * _toward_zero(left, right)),
}


class _NoValueError(Exception):
    """The expression has no value that can be told."""


def whole_number(expression: str, value_of: Callable[[str], str | None]) -> int | None:
    """Evaluate an expression as a shell does, with division that cuts toward zero.

    Args:
        expression: What stands between `$((` and `))`.
        value_of: The text of a name, None where it is not known.

    Returns:
        The value, None where the text is no such expression, a name has no whole number, or a bound is exceeded.
    """
    if len(expression) > LONGEST_EXPRESSION:
        return None
    try:
        reader = _Reader(_tokens(expression, value_of))
        value = reader.expression(depth=0)
        return value if reader.is_at_end else None
    except _NoValueError:
        return None


def _tokens(expression: str, value_of: Callable[[str], str | None]) -> list[int | str]:
    tokens: list[int | str] = []
    position, end = 0, len(expression.rstrip())
    while position < end:
        found = _TOKEN.match(expression, position)
        if found is None:
            raise _NoValueError
        tokens.append(found["operator"] or _number(found["number"] or value_of(found["name"])))
        position = found.end()
    return tokens


def _number(text: str | None) -> int:
    # A leading zero means octal in a shell, so only numbers that read the same in both are taken.
    if text is None or re.fullmatch(r"-?(?:0|[1-9]\d{0,18})", text, re.ASCII) is None:
        raise _NoValueError
    return _bounded(int(text))


def _bounded(value: int) -> int:
    if abs(value) > LARGEST_NUMBER:
        raise _NoValueError
    return value


def _toward_zero(left: int, right: int) -> int:
    if right == 0:
        raise _NoValueError
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


class _Reader:
    """A reader of tokens by precedence."""

    def __init__(self, tokens: list[int | str]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def is_at_end(self) -> bool:
        return self.position == len(self.tokens)

    def expression(self, depth: int, least_precedence: int = 1) -> int:
        value = self.operand(depth)
        while (operation := self.operation()) is not None and operation[0] >= least_precedence:
            self.position += 1
            value = _bounded(operation[1](value, self.expression(depth + 1, operation[0] + 1)))
        return value

    def operation(self) -> tuple[int, Callable[[int, int], int]] | None:
        symbol = None if self.is_at_end else self.tokens[self.position]
        return _OPERATIONS.get(symbol) if isinstance(symbol, str) else None

    def operand(self, depth: int) -> int:
        if self.is_at_end or depth > DEEPEST_NESTING:
            raise _NoValueError
        symbol = self.tokens[self.position]
        self.position += 1
        if isinstance(symbol, int):
            return symbol
        if symbol in ("-", "+"):
            value = self.operand(depth + 1)
            return -value if symbol == "-" else value
        if symbol != "(":
            raise _NoValueError
        value = self.expression(depth + 1)
        if self.is_at_end or self.tokens[self.position] != ")":
            raise _NoValueError
        self.position += 1
        return value
