"""Shell completion: the script of each shell, and what the command answers when a shell asks it."""

from __future__ import annotations

import pytest

from tests.command import rackrecon


def ask(*arguments: str, **variables: str) -> str:
    done = rackrecon(*arguments, **variables)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o default -F _rackrecon_completion rackrecon"),
        ("zsh", "compdef _rackrecon_completion rackrecon"),
        ("fish", "complete --command rackrecon"),
    ],
)
def test_each_shell_is_given_its_script(shell: str, line: str) -> None:
    # The shell that runs the tests does not matter: its name is given.
    shown = ask("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert line in shown
    assert f"_RACKRECON_COMPLETE=complete_{shell}" in shown


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("rackrecon qu", ["query"]),
        ("rackrecon re", ["refresh", "release", "report"]),
        ("rackrecon refresh --l", ["--live"]),
        ("rackrecon query fastest", ["fastest_by_size"]),
        ("rackrecon query x --format c", ["csv"]),
    ],
)
def test_bash_is_offered_commands_options_questions_and_values(typed: str, offered: list[str]) -> None:
    words = typed.split()
    told = ask(_RACKRECON_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
    assert told.split() == offered


def test_zsh_and_fish_are_offered_the_same_with_what_it_means() -> None:
    zsh = ask(_RACKRECON_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="rackrecon refresh --l")
    assert zsh.startswith("_arguments '*: :((")
    assert "--live" in zsh
    fish = {"_TYPER_COMPLETE_ARGS": "rackrecon refresh --l", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    told = ask(_RACKRECON_COMPLETE="complete_fish", **fish)
    option, _, meaning = told.strip().partition("\t")
    assert (option, meaning.split(",")[0]) == ("--live", "Ask the publisher for new and changed rounds")
