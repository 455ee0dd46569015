"""Settings: defaults, places that follow the data folder, values that cannot be used."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pipelines.settings import REPOSITORY, ConfigurationError, Limits, Settings


def test_defaults_stand_in_the_repository() -> None:
    settings = Settings.from_environment({})
    assert settings.data == REPOSITORY / "data"
    assert settings.lake == str(REPOSITORY / "data" / "lake")
    assert settings.warehouse == REPOSITORY / "data" / "warehouse.duckdb"
    assert settings.lock == REPOSITORY / "data" / "refresh.lock"
    assert settings.dagster_home == REPOSITORY / "dagster_home"
    assert settings.limits == Limits()


def test_places_follow_the_data_folder() -> None:
    settings = Settings.from_environment({"RACKRECON_DATA": "/elsewhere"})
    assert settings.lake == "/elsewhere/lake"
    assert settings.report == Path("/elsewhere/report")
    assert settings.cache == Path("/elsewhere/cache")
    assert settings.dagster_home == Path("/elsewhere/dagster")


def test_the_lake_may_stand_apart() -> None:
    settings = Settings.from_environment({"RACKRECON_DATA": "/elsewhere", "RACKRECON_LAKE": "shared/lake"})
    assert settings.lake == str(REPOSITORY / "shared" / "lake")
    assert settings.warehouse == Path("/elsewhere/warehouse.duckdb")


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("s3://bucket", "s3://bucket"),
        ("s3://my.bucket-1/", "s3://my.bucket-1"),
        ("s3://bucket/team_a/lake.v2/", "s3://bucket/team_a/lake.v2"),
    ],
)
def test_the_lake_may_be_in_a_bucket(text: str, location: str) -> None:
    assert Settings.from_environment({"RACKRECON_LAKE": text}).lake == location


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3:/bucket",
        "s3://Bucket",
        "s3://b",
        "s3://bucket//x",
        "s3://bucket/.x",
        "s3://bucket/../x",
        "s3://bucket?x",
    ],
)
def test_what_is_no_bucket_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="RACKRECON_LAKE: expected a folder, or a bucket and prefix as s3://"):
        Settings.from_environment({"RACKRECON_LAKE": text})


def test_credentials_in_the_lakes_address_are_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="one with a user's name or password") as caught:
        Settings.from_environment({"RACKRECON_LAKE": "s3://AKIA0:never-to-be-shown@bucket/lake"})
    assert "never-to-be-shown" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize("variable", ["RACKRECON_RESULTS_API", "RACKRECON_RESULTS_ARCHIVES", "RACKRECON_MIRRORS"])
@pytest.mark.parametrize("rest", ["host", "host/path", "host:x", "host?query", "[::1"])
def test_credentials_in_the_address_of_a_host_are_refused_and_not_shown(variable: str, rest: str) -> None:
    address = f"https://somebody:never-to-be-shown@{rest}"
    for text in (address, f"host={address}") if variable == "RACKRECON_MIRRORS" else (address,):
        with pytest.raises(ConfigurationError, match=f"^{variable}: expected .*one with a user's name") as caught:
            Settings.from_environment({variable: text})
        assert "never-to-be-shown" not in str(caught.value) + repr(vars(caught.value))


def test_relative_paths_start_at_the_repository_wherever_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.from_environment({"RACKRECON_DATA": "./a/../b"}).data == REPOSITORY / "b"


def test_blank_is_unset() -> None:
    assert Settings.from_environment({"RACKRECON_DATA": "  "}) == Settings.from_environment({})


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("1", 1), ("128 MiB", 134217728), ("2 GB", 2_000_000_000), ("3kib", 3072), ("5B", 5)],
)
def test_lengths_may_have_a_unit(text: str, size_bytes: int) -> None:
    assert Settings.from_environment({"RACKRECON_MAX_MEMBER_BYTES": text}).limits.member_bytes == size_bytes


def test_links_can_be_passed_over() -> None:
    assert Settings.from_environment({"RACKRECON_LINKS": "skip"}).limits.skip_links is True


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("RACKRECON_MAX_MEMBER_BYTES", "much", "a length such as"),
        ("RACKRECON_MAX_MEMBER_BYTES", "0", "a length such as"),
        ("RACKRECON_MAX_MEMBER_BYTES", "1.5 GiB", "a length such as"),
        ("RACKRECON_MAX_TOTAL_BYTES", "-1", "a length such as"),
        ("RACKRECON_MAX_MEMBERS", "0", "a whole number above 0"),
        ("RACKRECON_MAX_MEMBERS", "1e6", "a whole number above 0"),
        ("RACKRECON_LOCK_SECONDS", "nan", "seconds"),
        ("RACKRECON_LOCK_SECONDS", "-1", "seconds"),
        ("RACKRECON_LINKS", "follow", "refuse or skip"),
        ("RACKRECON_DATA", "ftp://host/folder", "a path"),
        ("RACKRECON_DATA", "a\x00b", "printable characters"),
        ("RACKRECON_WAREHOUSE", "~nobody-of-that-name/x", "a path whose home folder is known"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(variable: str, text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_environment({variable: text})
    assert caught.value.variable == variable
    assert caught.value.found == text
    assert str(caught.value).startswith(f"{variable}: expected {expected}")


def test_every_setting_is_described_once() -> None:
    reference = Settings.reference()
    assert list(reference) == [entry.name for entry in dataclasses.fields(Settings)]
    variables = [setting.variable for setting in reference.values()]
    assert len(set(variables)) == len(variables)
    assert all(variable.startswith("RACKRECON_") for variable in variables)
    assert all(setting.description and setting.default for setting in reference.values())


def test_another_data_folder_gets_a_seeded_dagster_home(tmp_path: Path) -> None:
    settings = Settings.from_environment({"RACKRECON_DATA": str(tmp_path)})
    home = settings.prepare_dagster_home()
    assert home == tmp_path / "dagster"
    seeded = (home / "dagster.yaml").read_text("utf-8")
    assert seeded == (REPOSITORY / "dagster_home" / "dagster.yaml").read_text("utf-8")
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", "utf-8")
    settings.prepare_dagster_home()
    assert (home / "dagster.yaml").read_text("utf-8") == "telemetry: {enabled: false}\n"
