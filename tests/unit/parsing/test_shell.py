from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing._arithmetic import whole_number
from pipelines.parsing._shell import Evaluated, ShellReader
from pipelines.parsing._shell_words import UnterminatedError, commands

FOLDER = "Acme/benchmarks/llama31_405b/implementations/box"


def evaluate(text: str, **others: str) -> Evaluated:
    files = {f"{FOLDER}/config_box.sh": text, **{f"{FOLDER}/{name}.sh": body for name, body in others.items()}}
    return ShellReader(files.get).evaluate(f"{FOLDER}/config_box.sh")


def values(text: str, **others: str) -> dict[str, str | None]:
    return {name: setting.value for name, setting in evaluate(text, **others).settings.items()}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("export A=4", "4"),
        ("A=4", "4"),
        ("  export A=4   # four", "4"),
        ("export A=4;export B=5", "4"),
        ('export A="4"', "4"),
        ("export A='4 # 5'", "4 # 5"),
        ("export A=x#y", "x#y"),
        ('export "A=4"', "4"),
        ("export B=2 A=4", "4"),
        ("declare -x A=4", "4"),
        (': "${A:=4}"', "4"),
        ("A=3; : ${A:=4}", "3"),
        ("A=${OTHER:-4}", "4"),
        ("A=${OTHER:-${THIRD:-4}}", "4"),
        ("OTHER=7; A=${OTHER:-4}", "7"),
        ("OTHER=; A=${OTHER:-4}", "4"),
        ("OTHER=; A=${OTHER-4}", ""),
        ("OTHER=7; A=${OTHER:+4}", "4"),
        ("B=2; A=$((B * 2))", "4"),
        ("B=2; A=$(( ${B} * (1 + 1) ))", "4"),
        ("B=2; A=$(($B*${C:-2}))", "4"),
        ("B=4; A=$B", "4"),
        ('B=4; A="${B}x$B"', "4x4"),
        ("B=4; A='$B'", "$B"),
        ("A=4\\\n5", "45"),
        ("A=\\$4", "$4"),
        ('A="it\'s 4"', "it's 4"),
        ("A=4\r\n", "4"),
        ("A=1\nA=4", "4"),
        ("A=1; A+=2", "12"),
        ("A=4 > /dev/null 2>&1", "4"),
        ("2>/dev/null A=4", "4"),
        ("A=4 <(run_it)", "4"),
        ("cat <<EOF\nA=1\nEOF\nA=4", "4"),
        ("if [ 1 = 1 ]; then A=4; else A=5; fi", "4"),
        ('B=1\nif [ "$B" -gt 1 ]; then\n A=5\nelif [[ $B == 1 && -z $C ]]; then\n A=4\nfi', "4"),
        ("if ! [ -z x ]; then A=4; fi", "4"),
        ('if [ -n "${SLURM}" ]; then A=5; else A=4; fi', "4"),
        ("[ 1 -lt 2 ] && A=4", "4"),
        ("[ 1 -gt 2 ] && A=5 || A=4", "4"),
        ("A=4; if [ 1 = 2 ]; then A=5; fi", "4"),
        ("A=4; (A=5)", "4"),
        ("A=4; A=5 run_it --now", "4"),
        ("A=4; echo x | A=5", "4"),
        ("A=4; if [ -f /x ]; then A=4; fi", "4"),
    ],
)
def test_settings(text: str, value: str) -> None:
    assert values(text)["A"] == value


@pytest.mark.parametrize(
    "text",
    [
        "A=$OTHER",
        "A=${OTHER}",
        "A=${OTHER:?}",
        "A=${OTHER%x}",
        "A=$(nproc)",
        "A=`nproc`",
        "A=$((OTHER * 2))",
        "A=$((1 / 0))",
        "A=$((08 + 1))",
        "A=$1",
        "A=(1 2)",
        "A=4; if [ -f /x ]; then A=5; fi",
        "if [ $SLURM_NNODES = 1 ]; then A=5; fi",
        "if [ -d /x ]; then A=4; else A=5; fi",
        "for i in 1 2; do A=$i; done",
        "for A in 1 2; do true; done",
        "case $X in a) A=1 ;; *) A=2 ;; esac",
        "f() { A=4; }",
        "function f { A=4; }",
        "run_it && A=4",
        "read A",
        "A=1; (( A += 1 ))",
        "eval A=4",
        "A=x; unset A; A=$A",
    ],
)
def test_what_cannot_be_told_has_no_value(text: str) -> None:
    found = values(text)
    assert "A" in found
    assert found["A"] is None


def test_settings_remember_where_they_stand_and_which_came_last() -> None:
    found = evaluate("export A=1\n\nexport B=2\nexport A=3").settings
    assert [(name, setting.line, setting.written) for name, setting in found.items()] == [
        ("B", 3, "B=2"),
        ("A", 4, "A=3"),
    ]


@pytest.mark.parametrize(
    "include",
    [
        "source config_common.sh",
        ". ./config_common.sh",
        "source $(dirname ${BASH_SOURCE[0]})/config_common.sh",
        'source "$(dirname "${BASH_SOURCE[0]}")/config_common.sh"',
        'HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"; source "$HERE/config_common.sh"',
        'source "$(dirname "$(readlink -f "$0")")/config_common.sh"',
        "source ${BASH_SOURCE%/*}/config_common.sh",
        "source ${CONFIG_FOLDER}/config_common.sh",
        "source ../box/config_common.sh",
    ],
)
def test_includes_are_followed_in_order(include: str) -> None:
    found = evaluate(f"export A=1\n{include}\nexport B=3", config_common="export A=2\nexport B=2")
    assert (found.settings["A"].value, found.settings["B"].value) == ("2", "3")
    assert found.settings["A"].path == f"{FOLDER}/config_common.sh"
    assert (found.problems, found.includes) == ([], [f"{FOLDER}/config_common.sh"])


def test_an_include_is_found_in_the_folder_that_the_script_is_run_from() -> None:
    files = {f"{FOLDER}/configs/config_box.sh": "source config_common.sh", f"{FOLDER}/config_common.sh": "A=1"}
    assert ShellReader(files.get).evaluate(f"{FOLDER}/configs/config_box.sh").settings["A"].value == "1"


def test_an_include_never_leaves_the_repository() -> None:
    found = evaluate("source ../../../../../../../../etc/passwd.sh\nsource /etc/profile.sh")
    assert [problem.kind for problem in found.problems] == ["launch.missing_include"] * 2


def test_a_missing_include_is_reported_and_not_fatal() -> None:
    found = evaluate("source config_gone.sh\nexport A=1")
    assert found.settings["A"].value == "1"
    assert found.misses_includes
    assert [(problem.kind, problem.line, problem.found) for problem in found.problems] == [
        ("launch.missing_include", 1, "config_gone.sh")
    ]


def test_a_cyclic_include_is_reported_and_passed_over() -> None:
    found = evaluate("source a.sh\nexport A=1", a="source b.sh", b="export B=2\nsource a.sh\nsource config_box.sh")
    assert {name: setting.value for name, setting in found.settings.items()} == {"B": "2", "A": "1"}
    assert [problem.kind for problem in found.problems] == ["launch.cyclic_include"] * 2


def test_an_include_in_a_condition_that_cannot_be_told_leaves_no_value() -> None:
    assert values("A=1\nif [ -f /x ]; then source other.sh; fi", other="A=2\nB=3") == {"A": None, "B": None}


def test_a_quote_that_is_never_closed_ends_the_reading_with_a_finding() -> None:
    found = evaluate("export A=1\nexport B='2\nexport C=3")
    assert {name: setting.value for name, setting in found.settings.items()} == {"A": "1"}
    assert [(problem.kind, problem.line) for problem in found.problems] == [("launch.unterminated", 2)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("10 - 4 - 3", 3),
        ("2 * -3", -6),
        ("N * 2", 16),
        ("", None),
        ("1 +", None),
        ("(1", None),
        ("1 2", None),
        ("010", None),
        ("1 / 0", None),
        ("2 ** 3", None),
        ("GONE", None),
        ("9223372036854775807 + 1", None),
        ("(" * 50 + "1" + ")" * 50, None),
    ],
)
def test_arithmetic(expression: str, value: int | None) -> None:
    assert whole_number(expression, {"N": "8"}.get) == value


@given(st.recursive(st.integers(0, 99).map(str), lambda e: st.tuples(e, st.sampled_from("+-*"), e).map(" ".join)))
def test_arithmetic_equals_that_of_whole_numbers(expression: str) -> None:
    if len(expression) < 200:
        expected = eval(expression, {"__builtins__": {}})
        assert whole_number(expression, {}.get) in (expected, None if abs(expected) >= 2**63 else expected)


shell_text = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [
            *("if ", "then ", "else ", "elif ", "fi ", "for ", "do ", "done ", "case ", "esac ", "in ", "{ ", "} "),
            *("export A=", "A=1 ", "$A", "${A", "${A:-", "}", "$((", "))", "$(", ")", "(", '"', "'", "`", "\\", "\n"),
            *("source config_box.sh", "source a.sh", ". ", "[ ", "] ", "[[ ", "]] ", "&& ", "|| ", "| ", "; ", "# "),
            *("<<EOF\n", "EOF\n", "> ", "1 ", "! ", "-z ", "= ", "f() ", "unset A ", ": ", "let ", "\x00", "\x0b"),
        ]
    ),
    max_size=60,
).map("".join)


@given(shell_text, shell_text)
def test_any_text_is_followed_without_raising(text: str, other: str) -> None:
    found = evaluate(text, a=other)
    assert all(setting.value is None or len(setting.value) <= 4_096 for setting in found.settings.values())


@given(st.binary(max_size=200))
def test_any_bytes_split_into_commands_or_end_unterminated(content: bytes) -> None:
    text = content.decode("utf-8", errors="replace")
    try:
        lines = [command.line for command in commands(text)]
    except UnterminatedError:
        return
    assert lines == sorted(lines)


LARGE = {
    "one long line": "A=" + "x" * 1_000_000,
    "open expansions": "A=" + "${A:-" * 200_000,
    "nested expansions": "A=" + "${A:-" * 60_000 + "}" * 60_000,
    "nested arithmetic": "A=$((" + "(" * 100_000 + "1" + ")" * 100_000 + "))",
    "quotes": "'" * 300_001,
    "conditions": "if " * 60_000,
    "subshells": "( " * 100_000,
    "negations": "[ " + "! " * 60_000 + "x ]",
    "links": "[[ " + "a && " * 40_000,
    "doubling": "A=aaaaaaaaaaaaaaaa\n" + "A=$A$A\n" * 60_000,
    "missing includes": "source gone.sh\n" * 20_000,
    "here documents": "<<A\n" * 50_000,
    "substitutions": '"$(' * 60_000,
    "names": "let " + "a" * 1_000_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_texts_take_no_long(name: str) -> None:
    start = time.perf_counter()
    found = evaluate(LARGE[name])
    assert time.perf_counter() - start < 20
    assert len(found.problems) <= 100


def test_includes_that_multiply_are_bounded() -> None:
    found = evaluate("source a.sh\n" * 1000, a="source b.sh\n" * 1000, b="A=1\n" * 1000)
    assert len(found.includes) <= 64
    assert found.misses_includes
