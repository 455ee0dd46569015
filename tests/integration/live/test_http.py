"""The client against a host that behaves and misbehaves: what comes back, what is told, what the host was asked."""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
import time
from email.utils import formatdate

import pytest

from pipelines.settings import Settings
from pipelines.sources.errors import SourceError
from pipelines.sources.http import ATTEMPTS, FetchError, Http, PassingError, PausedError
from tests.integration.live.conftest import Host

PAGE = "/docs/part"


@pytest.fixture(autouse=True)
def page(host: Host) -> None:
    host.hold(pages={PAGE: {"text": "memory 192 GB"}})


def test_a_page_comes_whole_with_our_name_on_the_request(http: Http, host: Host) -> None:
    found = http.get(host.address + PAGE)
    assert found.content == b"memory 192 GB"
    assert found.sha256 == hashlib.sha256(b"memory 192 GB").hexdigest()
    assert (found.media_type, found.is_unchanged) == ("text/html; charset=utf-8", False)
    (request,) = host.log()
    assert request["headers"]["user-agent"].startswith("rackrecon/")
    assert "(https://example.org/rackrecon)" in request["headers"]["user-agent"]
    assert "authorization" not in request["headers"]


def test_the_second_time_is_conditional_and_the_bytes_are_those_of_the_first(
    live_settings: Settings, host: Host
) -> None:
    for is_unchanged in (False, True):  # two clients, as in two runs
        with Http(live_settings) as http:
            page = http.get(host.address + PAGE)
            assert (page.content, page.is_unchanged) == (b"memory 192 GB", is_unchanged)
    assert host.paths() == [f"{PAGE} 200", f"{PAGE} 304"]


def test_a_page_that_says_it_is_good_for_a_year_is_asked_for_all_the_same(http: Http, host: Host) -> None:
    year = {"Cache-Control": "max-age=31536000, immutable", "ETag": '"old"', "Content-Type": "text/html"}
    host.plan(PAGE, {"status": 200, "headers": year, "body": "memory 186 GB"})
    assert http.get(host.address + PAGE).content == b"memory 186 GB"
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert host.log()[1]["headers"]["if-none-match"] == '"old"'


def test_another_etag_over_the_same_bytes_is_the_same_sha256(http: Http, host: Host) -> None:
    first = http.get(host.address + PAGE)
    time.sleep(1.1)  # of two answers the later is taken, by the seconds of their dates
    host.hold(pages={PAGE: {"text": "memory 192 GB", "etag": '"another"'}})
    second = http.get(host.address + PAGE)
    assert (second.sha256, second.is_unchanged) == (first.sha256, False)
    assert http.get(host.address + PAGE).is_unchanged


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_host_at_a_loss_is_asked_again(http: Http, host: Host, told: list[str], status: int) -> None:
    host.plan(PAGE, {"status": status})
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert [f"status {status}" in line and line.endswith("trying again") for line in told] == [True]


def test_a_host_at_a_loss_for_good_is_told_of_after_four_attempts(http: Http, host: Host) -> None:
    host.plan(PAGE, {"status": 500, "always": True})
    with pytest.raises(PassingError, match=rf"{PAGE}: expected status 200, found status 500"):
        http.get(host.address + PAGE)
    assert len(host.log()) == ATTEMPTS


def test_what_is_not_there_is_asked_for_once(http: Http, host: Host) -> None:
    with pytest.raises(FetchError, match="expected status 200, found status 404"):
        http.get(host.address + "/nowhere")
    assert len(host.log()) == 1


def test_retry_after_is_waited_out(http: Http, host: Host, told: list[str]) -> None:
    host.plan(PAGE, {"status": 429, "headers": {"Retry-After": "1"}})
    start = time.monotonic()
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert time.monotonic() - start >= 0.9
    assert any("as it asked" in line for line in told)


def test_retry_after_may_be_a_date(http: Http, host: Host) -> None:
    until = int(time.time()) + 2
    host.plan(PAGE, {"status": 503, "headers": {"Retry-After": formatdate(until, usegmt=True)}})
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert time.time() >= until


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "\u00b2"},
        {"Retry-After": "9" * 40},
        {"Retry-After": "-5"},
        {"Retry-After": "Mon, 99 Foo 1"},
        {"Retry-After": "0"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\u00b2"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1e99"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "12"},
    ],
)
def test_a_pause_that_makes_no_sense_is_none(http: Http, host: Host, told: list[str], headers: dict[str, str]) -> None:
    host.plan(PAGE, {"status": 503, "headers": headers})
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert not any("as it asked" in line and "waiting 0 s" not in line for line in told)


@pytest.mark.parametrize(
    ("target", "next_address"),
    [("<//evil.example/x>", "http://evil.example/x"), ("<javascript:x>", "javascript:x")],
)
def test_a_link_is_only_told_and_asked_for_under_the_same_rules(
    http: Http, host: Host, target: str, next_address: str
) -> None:
    host.plan(PAGE, {"status": 200, "headers": {"Link": f'{target}; rel="next"'}})
    assert http.get(host.address + PAGE).next_address == next_address
    with pytest.raises(FetchError):
        http.get(next_address)


def test_a_link_that_is_no_address_is_told(http: Http, host: Host) -> None:
    host.plan(PAGE, {"status": 200, "headers": {"Link": '<http://[::1>; rel="next"'}})
    with pytest.raises(FetchError, match="expected a link to the next page"):
        http.get(host.address + PAGE)


def test_a_spent_rate_limit_is_told_with_its_end_and_kept_by_the_next_process(
    http: Http, host: Host, live_settings: Settings
) -> None:
    reset = int(time.time()) // 60 * 60 + 1230  # amid a minute, which the message tells
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
    host.plan(PAGE, {"status": 403, "headers": spent, "body": "rate limit exceeded"})
    until = time.strftime("%Y-%m-%d %H:%M", time.gmtime(reset))
    with pytest.raises(PausedError, match=f"left alone until {until}.*found status 403"):
        http.get(host.address + PAGE)
    with Http(live_settings) as another, pytest.raises(PausedError, match=f"left alone until {until}"):
        another.get(host.address + "/elsewhere")
    assert len(host.log()) == 1


def test_the_last_allowed_request_is_answered_and_the_next_one_is_not_sent(http: Http, host: Host) -> None:
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 1200)}
    host.plan(PAGE, {"status": 200, "headers": spent, "body": "the last"})
    assert http.get(host.address + PAGE).content == b"the last"
    with pytest.raises(PausedError):
        http.get(host.address + PAGE)
    assert len(host.log()) == 1


def test_a_host_that_refuses_every_attempt_is_left_alone_for_half_an_hour(
    http: Http, host: Host, live_settings: Settings
) -> None:
    host.plan(PAGE, {"status": 429, "always": True})
    soonest = in_half_an_hour()
    with pytest.raises(PausedError, match=r"left alone until .*status 429.*4 times in a row") as paused:
        http.get(host.address + PAGE)
    told = re.search(r"until ([-0-9]+ [0-9:]+)", str(paused.value))
    assert told is not None
    assert soonest <= told[1] <= in_half_an_hour()
    assert len(host.log()) == ATTEMPTS
    with Http(live_settings) as another, pytest.raises(PausedError):
        another.get(host.address + PAGE)
    assert len(host.log()) == ATTEMPTS


def in_half_an_hour() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 1800))


def test_a_forbidden_page_is_not_taken_for_a_rate_limit(http: Http, host: Host) -> None:
    host.plan(PAGE, {"status": 403})
    with pytest.raises(FetchError, match="found status 403 Forbidden"):
        http.get(host.address + PAGE)
    assert http.get(host.address + PAGE).content == b"memory 192 GB"


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ({"fault": "cut"}, "incomplete|without sending complete"),
        ({"fault": "cut", "share": 1.0, "length": 999}, "incomplete|without sending complete"),
    ],
)
def test_a_broken_body_is_fetched_again(
    http: Http, host: Host, told: list[str], fault: dict[str, object], found: str
) -> None:
    host.plan(PAGE, fault)
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert len(told) == 1
    assert PAGE in told[0]
    assert "expected a whole body" in told[0]
    assert any(words in told[0] for words in found.split("|"))
    assert http.get(host.address + PAGE).is_unchanged


def test_a_body_that_stalls_is_fetched_again(environment: dict[str, str], host: Host, told: list[str]) -> None:
    settings = Settings.from_environment({**environment, "RACKRECON_HTTP_SECONDS": "2"})
    host.plan(PAGE, {"fault": "stall"})
    with Http(settings, tell=told.append) as http:
        assert http.get(host.address + PAGE).content == b"memory 192 GB"
    assert "expected a whole body, found silence for too long (RACKRECON_HTTP_SECONDS) after" in told[0]


def test_a_trickle_is_given_up_in_time(environment: dict[str, str], host: Host) -> None:
    settings = Settings.from_environment({**environment, "RACKRECON_TRANSFER_SECONDS": "1"})
    host.plan(PAGE, {"fault": "trickle", "seconds": 0.3, "always": True})
    with Http(settings) as http, pytest.raises(FetchError, match=r"a whole body in 1 s \(RACKRECON_TRANSFER_SECONDS\)"):
        http.get(host.address + PAGE)


def test_a_long_page_is_cut_off(environment: dict[str, str], host: Host) -> None:
    settings = Settings.from_environment({**environment, "RACKRECON_MAX_PAGE_BYTES": "1000"})
    host.hold(pages={PAGE: {"text": "x" * 1001}})
    host.plan(PAGE, {"status": 200, "body": "x" * 1001})
    with Http(settings) as http, pytest.raises(FetchError, match=r"at most 1000 bytes \(RACKRECON_MAX_PAGE_BYTES\)"):
        http.get(host.address + PAGE)


def test_a_bomb_is_never_unpacked_whole(environment: dict[str, str], host: Host) -> None:
    settings = Settings.from_environment({**environment, "RACKRECON_MAX_PAGE_BYTES": "1 MB"})
    host.plan(PAGE, {"fault": "bomb", "coded": True})
    with Http(settings) as http, pytest.raises(FetchError, match="at most 1000000 bytes unpacked"):
        http.get(host.address + PAGE)


def test_gzip_of_several_members_comes_whole(http: Http, host: Host) -> None:
    coded = {"Content-Encoding": "gzip", "Content-Type": "text/html"}
    members = gzip.compress(b"memory ", mtime=0) + gzip.compress(b"192 GB", mtime=0)
    host.plan(PAGE, {"status": 200, "headers": coded, "hex": members.hex()})
    assert http.get(host.address + PAGE).content == b"memory 192 GB"


@pytest.mark.parametrize(("part", "found"), [(slice(-9), "cut off"), (slice(2, None), "a damaged one")])
def test_gzip_that_is_not_sound_is_fetched_again(
    http: Http, host: Host, told: list[str], part: slice, found: str
) -> None:
    packed = gzip.compress(b"memory 192 GB" * 50, mtime=0)[part]
    coded = {"Content-Encoding": "gzip", "Content-Type": "text/html"}
    host.plan(PAGE, {"status": 200, "headers": coded, "hex": packed.hex()})
    assert http.get(host.address + PAGE).content == b"memory 192 GB"
    (line,) = told
    assert found in line


def test_a_redirect_to_the_same_host_is_followed(http: Http, host: Host) -> None:
    host.plan("/old", {"status": 301, "headers": {"Location": PAGE}})
    page = http.get(host.address + "/old")
    assert (page.content, page.address) == (b"memory 192 GB", host.address + "/old")


def test_a_redirect_to_another_host_is_not_followed(http: Http, host: Host) -> None:
    host.plan("/old", {"status": 302, "headers": {"Location": host.other_address + PAGE}})
    with pytest.raises(FetchError, match=r"/old: expected one of 127\.0\.0\.1.* found a way to localhost"):
        http.get(host.address + "/old")
    assert host.paths() == ["/old 302"]


def test_a_redirect_to_a_host_that_may_be_followed_to_is(environment: dict[str, str], host: Host) -> None:
    port = host.address.rpartition(":")[2]
    settings = Settings.from_environment({**environment, "RACKRECON_REDIRECT_HOSTS": f"localhost:{port}"})
    host.plan("/old", {"status": 302, "headers": {"Location": host.other_address + PAGE}})
    with Http(settings) as http:
        assert http.get(host.address + "/old").content == b"memory 192 GB"


@pytest.mark.parametrize("location", ["http://example.org/x", "file:///etc/passwd", "//[broken", "ftp://127.0.0.1/x"])
def test_a_redirect_away_from_tls_is_not_followed(http: Http, host: Host, location: str) -> None:
    host.plan("/old", {"status": 302, "headers": {"Location": location}})
    with pytest.raises(FetchError):
        http.get(host.address + "/old")
    assert len(host.log()) == 1


def test_a_redirect_loop_ends(http: Http, host: Host) -> None:
    host.plan("/old", {"status": 302, "headers": {"Location": "/old"}, "always": True})
    with pytest.raises(FetchError, match="at most 5 redirects"):
        http.get(host.address + "/old")
    assert len(host.log()) == 6


def test_the_token_goes_to_its_host_only_and_into_no_message(
    environment: dict[str, str], host: Host, told: list[str]
) -> None:
    port = host.address.rpartition(":")[2]
    secret = "ghp_verysecret"
    settings = Settings.from_environment(
        {**environment, "RACKRECON_GITHUB_TOKEN": secret, "RACKRECON_REDIRECT_HOSTS": f"localhost:{port}"}
    )
    host.plan("/old", {"status": 302, "headers": {"Location": host.other_address + PAGE}})
    host.plan("/closed", {"status": 401})
    with Http(settings, tell=told.append) as http:
        http.get(host.address + "/old")
        with pytest.raises(FetchError, match="RACKRECON_GITHUB_TOKEN is not accepted") as caught:
            http.get(host.address + "/closed")
    authorization = [entry["headers"].get("authorization") for entry in host.log()]
    assert authorization == [f"Bearer {secret}", None, f"Bearer {secret}"]
    assert secret not in f"{caught.value!r} {caught.value} {settings!r} {settings.results_token} {told}"
    for file in settings.cache.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_a_mirror_is_asked_instead(environment: dict[str, str], host: Host) -> None:
    settings = Settings.from_environment(
        {**environment, "RACKRECON_MIRRORS": f"docs.example.org={host.address}, other.example.org={host.address}/other"}
    )
    with Http(settings) as http:
        page = http.get(f"https://docs.example.org{PAGE}?a=b")
    assert (page.content, page.address) == (b"memory 192 GB", f"https://docs.example.org{PAGE}?a=b")
    assert host.paths() == [f"{PAGE}?a=b 200"]


def test_a_host_without_tls_that_is_not_this_machine_is_not_asked(live_settings: Settings) -> None:
    with (
        Http(live_settings, hosts=["example.org"]) as http,
        pytest.raises(FetchError, match=r"starts with https://, found http://example\.org/x"),
    ):
        http.get("http://example.org/x")


def test_a_host_that_does_not_answer_is_told_of(environment: dict[str, str]) -> None:
    settings = Settings.from_environment({**environment, "RACKRECON_RESULTS_API": "http://127.0.0.1:9"})
    with Http(settings) as http, pytest.raises(PassingError, match="expected an answer, found"):
        http.get("http://127.0.0.1:9/x")


def test_one_of_us_asks_a_host_at_a_time(live_settings: Settings, host: Host) -> None:
    asked: list[str] = []

    def ask() -> None:
        with Http(live_settings) as http:
            http.get(host.address + PAGE)
            asked.append("next")

    with Http(live_settings) as slow, slow.stream(host.address + PAGE) as body:
        other = threading.Thread(target=ask)
        other.start()
        other.join(0.3)
        assert other.is_alive()
        assert len(host.log()) == 1
        asked.append("slow")
        assert body.read(100) == b"memory 192 GB"
    other.join()
    assert asked == ["slow", "next"]
    assert len(host.log()) == 2


def test_a_body_is_read_in_pieces_and_digested(http: Http, host: Host) -> None:
    host.hold(pages={PAGE: {"text": "0123456789" * 20_000}})
    with http.stream(host.address + PAGE) as body:
        pieces = list(iter(lambda: body.read(1000), b""))
        assert max(map(len, pieces)) <= 1000
        assert b"".join(pieces) == b"0123456789" * 20_000
        assert body.sha256 == hashlib.sha256(b"0123456789" * 20_000).hexdigest()


def test_errors_are_those_of_sources() -> None:
    assert issubclass(FetchError, SourceError)
