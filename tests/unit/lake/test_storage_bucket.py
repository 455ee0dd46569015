"""The connection to a bucket: which addresses are taken, what is said of an answer, what is never said."""

from __future__ import annotations

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from pipelines.lake.storage import StorageError
from pipelines.lake.storage_bucket import Bucket, ChangedError
from pipelines.settings import ConfigurationError

SECRET = "never-to-be-shown-anywhere"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "address", ["https://s3.example.org", "http://127.0.0.1:9000", "http://localhost:9000/", "http://[::1]:9000"]
)
def test_addresses_that_are_taken(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    assert Bucket("s3://bucket/lake").url("a/b") == "s3://bucket/lake/a/b"


@pytest.mark.parametrize(
    "address",
    ["http://s3.example.org", "http://10.0.0.1:9000", "s3.example.org", "https://", "https://x:99999", "ftp://x"],
)
def test_addresses_that_are_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    with pytest.raises(ConfigurationError, match="AWS_ENDPOINT_URL: expected an address that starts with https://"):
        Bucket("s3://bucket/lake")


def test_a_password_in_the_address_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://user:{SECRET}@s3.example.org")
    with pytest.raises(ConfigurationError, match="without a user's name or password") as caught:
        Bucket("s3://bucket/lake")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AWS_ACCESS_KEY_ID", "an-id", "AWS_SECRET_ACCESS_KEY: expected the key that belongs to AWS_ACCESS_KEY_ID"),
        ("AWS_SECRET_ACCESS_KEY", SECRET, "AWS_ACCESS_KEY_ID: expected the name of AWS_SECRET_ACCESS_KEY"),
        ("AWS_SKIP_SIGNATURE", SECRET, "AWS_SKIP_SIGNATURE.*: expected values that an S3 client can read"),
    ],
)
def test_what_the_client_cannot_use_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    for other in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=said) as caught:
        Bucket("s3://bucket/lake")
    assert SECRET not in str(caught.value)


@pytest.mark.server
def test_conditions_cannot_be_turned_off(s3_lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    bucket = Bucket(s3_lake)
    bucket.create("a", b"1")
    with pytest.raises(ChangedError):
        bucket.create("a", b"2")


def answer(code: str) -> str:
    return f"status code: 403 Forbidden: <Error><Code>{code}</Code><AWSAccessKeyId>{SECRET}</AWSAccessKeyId></Error>"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionDeniedError(answer("SignatureDoesNotMatch")), r"refuses the credentials \(SignatureDoesNotMatch\)"),
        (PermissionDeniedError("status code: 403 Forbidden: "), r"refuses the credentials \(403\)"),
        (GenericError(answer("PermanentRedirect")), r"in another region \(PermanentRedirect\): correct AWS_REGION"),
        (GenericError(answer("SlowDown")), "https://s3.example.org answered SlowDown"),
        (GenericError(f"HTTP error: error sending request {SECRET}"), "cannot be reached, or broke off"),
        (GenericError("performing PUT http://169.254.169.254/latest/api/token"), "set AWS_ACCESS_KEY_ID"),
        (FileNotFoundError(answer("NoSuchBucket")), "there is no bucket 'bucket' at https://s3.example.org"),
        (FileNotFoundError(answer("NoSuchKey")), "a/b: no such object"),
    ],
)
def test_an_answer_is_said_in_words_without_its_text(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://s3.example.org")
    bucket = Bucket("s3://bucket/lake")
    with pytest.raises(StorageError, match=said) as caught, bucket._told("a/b", "read"):
        raise error
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__, "nor is it shown as what caused it"
    assert caught.value.__cause__ is None


def test_neither_bucket_nor_client_shows_a_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", f"{SECRET}-id")
    monkeypatch.setenv("AWS_SESSION_TOKEN", f"{SECRET}-token")
    bucket = Bucket("s3://bucket/lake")
    assert SECRET not in repr(vars(bucket)) + repr(bucket)


@pytest.mark.server
def test_puts_are_on_conditions(s3_lake: str) -> None:
    bucket = Bucket(s3_lake)
    first = bucket.create("a", b"1")
    with pytest.raises(ChangedError):
        bucket.create("a", b"2")
    second = bucket.replace("a", b"2", first)
    with pytest.raises(ChangedError):
        bucket.replace("a", b"3", first)
    with pytest.raises(ChangedError):
        bucket.replace("none", b"3", first)
    assert bucket.version("a") == second != first
    assert bucket.get("a").content == b"2"
    assert bucket.version("none") is None


@pytest.mark.server
@pytest.mark.parametrize(("method", "condition"), [("create", "If-None-Match"), ("replace", "If-Match")])
def test_a_store_that_ignores_conditions_is_refused(
    s3_lake: str, monkeypatch: pytest.MonkeyPatch, method: str, condition: str
) -> None:
    bucket = Bucket(s3_lake)
    bucket.check_conditions(".locks/conditions")
    bucket.check_conditions(".locks/conditions")
    monkeypatch.setattr(bucket, method, lambda *_: "put all the same")
    with pytest.raises(StorageError, match=rf"found that http://127\.0\.0\.1:\d+ ignores {condition}:"):
        bucket.check_conditions(".locks/conditions")
