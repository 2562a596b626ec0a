"""Exchanges and retries against a server that misbehaves."""

from __future__ import annotations

import socket
import threading
import time
from email.utils import formatdate

import pytest

from ragjudge.errors import JudgeUnavailableError
from ragjudge.judges.http import client as client_module
from ragjudge.judges.http.calling import FIRST_DELAY, MOST_DELAY, Refusal, call, delay
from ragjudge.judges.http.client import AbortedError, Client, ExchangeError, Response
from ragjudge.judges.http.failures import CallFailedError, words
from ragjudge.judges.http.settings import parse_address
from tests.judges.http.server import Answer, Server, completion, error, in_turn, serving

OK = Answer('{"fine": true}')


def client_of(server: Server, timeout: float = 5.0, key: str | None = None) -> Client:
    return Client(parse_address(server.url), timeout=timeout, key=key)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_a_body_is_posted_and_its_answer_returned() -> None:
    with serving(lambda request: OK) as server:
        assert client_of(server, key="s3cret").post({"a": "\u00fc"}) == Response(200, OK.body)
    (request,) = server.requests
    assert (request.path, request.body) == ("/v1/chat/completions", {"a": "\u00fc"})
    assert request.headers["Authorization"] == "Bearer s3cret"
    assert request.headers["Content-Type"] == "application/json"


def test_no_key_is_sent_when_there_is_none() -> None:
    with serving(lambda request: OK) as server:
        client_of(server).post({})
    assert "Authorization" not in server.requests[0].headers


def test_a_key_that_the_server_repeats_is_taken_out() -> None:
    with serving(lambda request: error(401, "Incorrect API key: s3cret")) as server:
        answer = client_of(server, key="s3cret").post({})
        assert answer.text == '{"error": {"message": "Incorrect API key: (key)"}}'
        with pytest.raises(
            JudgeUnavailableError, match=r"answers 401: Incorrect API key: \(key\)\."
        ) as caught:
            call(client_of(server, key="s3cret"), {}, 0)
    assert caught.value.hint is not None
    assert "api_key_env" in caught.value.hint


def test_an_answer_in_time_counts_from_sending_and_one_too_late_is_cut() -> None:
    def slow(request: object) -> Answer:
        time.sleep(0.6)
        return OK

    with serving(slow) as server:
        assert client_of(server, timeout=5).post({}).status == 200
        with pytest.raises(ExchangeError, match=r"did not answer within 0\.2 seconds") as caught:
            client_of(server, timeout=0.2).post({})
    assert (caught.value.again, caught.value.reached) == (False, True)


def test_an_answer_is_too_late_whoever_notices_first(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def slow(request: object) -> Answer:
        over.wait(20)
        return OK

    monkeypatch.setattr(client_module._Exchange, "cut", lambda exchange, reason: None)
    with serving(slow) as server:
        with pytest.raises(ExchangeError, match=r"did not answer within 0\.2 seconds") as caught:
            client_of(server, timeout=0.2).post({})
        over.set()
    assert (caught.value.again, caught.value.reached) == (False, True)


def test_a_server_that_trickles_is_cut_too() -> None:
    with serving(lambda request: Answer("x" * 1000, trickle=0.02)) as server:
        started = time.perf_counter()
        with pytest.raises(ExchangeError, match=r"did not answer within 0\.3 seconds"):
            client_of(server, timeout=0.3).post({})
        assert time.perf_counter() - started < 5


def test_a_body_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MOST_BYTES", 1 << 20)
    with serving(lambda request: Answer("x" * (3 << 20))) as server:
        with pytest.raises(CallFailedError, match="the server sent more than 1 MiB"):
            call(client_of(server), {}, 3)
        assert len(server.requests) == 1


def test_abort_ends_what_waits_and_refuses_what_comes() -> None:
    over = threading.Event()

    def slow(request: object) -> Answer:
        over.wait(20)
        return OK

    with serving(slow) as server:
        client = client_of(server, timeout=30)
        threading.Timer(0.1, client.abort).start()
        started = time.perf_counter()
        with pytest.raises(AbortedError):
            client.post({})
        with pytest.raises(AbortedError):
            client.post({})
        assert time.perf_counter() - started < 10
        assert len(server.requests) == 1
        over.set()


def test_a_server_that_speaks_no_tls_is_unavailable_over_tls() -> None:
    with serving(lambda request: OK) as server:
        address = parse_address(server.url.replace("http:", "https:"))
        with pytest.raises(JudgeUnavailableError, match="no safe connection to https://127"):
            call(Client(address, timeout=5), {}, 3)


@pytest.mark.parametrize("passing", [408, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again(passing: int) -> None:
    with serving(in_turn([error(passing, "busy"), error(passing, "busy"), OK])) as server:
        assert call(client_of(server), {}, 3) == OK.body
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "broken",
    [
        Answer("", hang_up=True),
        Answer('{"half', announced=500),
        Answer('40\r\n{"half', headers={"Transfer-Encoding": "chunked"}),
        Answer("soon\r\n", headers={"Transfer-Encoding": "chunked"}),
    ],
)
def test_a_connection_that_breaks_is_tried_again(broken: Answer) -> None:
    with serving(in_turn([broken, OK])) as server:
        assert call(client_of(server), {}, 3) == OK.body


def test_a_connection_that_always_breaks_fails_this_call() -> None:
    with serving(lambda request: Answer('{"half', announced=500)) as server:
        with pytest.raises(
            CallFailedError, match="the server broke the connection off: the answer is incomplete"
        ):
            call(client_of(server), {}, 2)
        assert len(server.requests) == 3


def test_a_failure_that_does_not_pass_fails_this_call_with_the_server_s_words() -> None:
    with serving(lambda request: error(503, "Loading model")) as server:
        with pytest.raises(CallFailedError, match=r"^the server answers 503: Loading model$") as caught:
            call(client_of(server), {}, 2)
        assert len(server.requests) == 3
    assert caught.value.raw == '{"error": {"message": "Loading model"}}'


def test_retry_after_is_waited_for() -> None:
    with serving(in_turn([error(429, "slow down", Retry_After="1"), OK])) as server:
        started = time.perf_counter()
        assert call(client_of(server), {}, 1) == OK.body
        assert 1 <= time.perf_counter() - started < 10


def test_retry_after_may_be_a_date() -> None:
    with serving(
        lambda request: error(503, "later", Retry_After=formatdate(time.time() + 50, usegmt=True))
    ) as server:
        assert client_of(server).post({}).retry_after == pytest.approx(50, abs=3)


@pytest.mark.parametrize("value", ["soon", "", "-5", "9" * 400, "\u0665"])
def test_a_retry_after_that_says_nothing_is_left_out(value: str) -> None:
    with serving(in_turn([error(503, "later", Retry_After=value.encode().decode("latin-1")), OK])) as server:
        assert call(client_of(server), {}, 1) == OK.body


def test_a_server_that_wants_too_much_patience_has_failed() -> None:
    with serving(lambda request: error(429, "quota", Retry_After="3600")) as server:
        with pytest.raises(
            CallFailedError, match=r"429: quota \(it wants to be asked again in 3600 seconds\)"
        ):
            call(client_of(server), {}, 5)
        assert len(server.requests) == 1


def test_waiting_ends_when_nobody_waits_any_more() -> None:
    with serving(lambda request: error(429, "slow down", Retry_After="60")) as server:
        client = client_of(server)
        threading.Timer(0.2, client.abort).start()
        with pytest.raises(AbortedError):
            call(client, {}, 5)


def test_a_server_that_is_not_there_is_named_after_the_retries() -> None:
    client = Client(parse_address(f"http://127.0.0.1:{closed_port()}/v1"), timeout=5)
    with pytest.raises(JudgeUnavailableError) as caught:
        call(client, {}, 2)
    assert caught.value.message == (
        f"judge 'http': the server at {client.address} cannot be reached: connection refused."
    )
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "api_key_env"), (403, "api_key_env"), (404, "base_url"), (405, "base_url")]
)
def test_a_server_that_takes_no_call_at_all_is_unavailable(status: int, hint: str) -> None:
    with serving(lambda request: error(status, "model 'x' not found")) as server:
        with pytest.raises(JudgeUnavailableError, match=f"answers {status}: model 'x' not found") as caught:
            call(client_of(server), {}, 3)
        assert len(server.requests) == 1
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_its_query_not_repeated(status: int) -> None:
    with serving(lambda request: OK) as other:
        target = other.url.replace("//", "//me:hunter2@")
        redirect = Answer("", status=status, headers={"Location": f"{target}/chat/completions?key=hunter2"})
        with (
            serving(lambda request: redirect) as server,
            pytest.raises(JudgeUnavailableError, match="redirects are not followed") as caught,
        ):
            call(client_of(server, key="s3cret"), {}, 3)
        assert other.requests == []
    assert f"redirects to {other.url}/chat/completions," in caught.value.message
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("status", [400, 413, 415, 422, 501])
def test_a_request_that_is_not_taken_is_refused_without_a_retry(status: int) -> None:
    with serving(lambda request: error(status, "no such option")) as server:
        assert call(client_of(server), {}, 3) == Refusal(f"the server answers {status}: no such option")
        assert len(server.requests) == 1


def test_an_error_page_is_told_in_its_own_words() -> None:
    page = Answer(
        "<html><head><title>502</title></head><body>\n<h1>Bad gateway</h1></body></html>", status=502
    )
    with serving(lambda request: page) as server, pytest.raises(CallFailedError) as caught:
        call(client_of(server), {}, 0)
    assert caught.value.reason == "the server answers 502: 502 Bad gateway"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": "gone."}', "gone"),
        ('{"detail": [{"loc": ["body"]}]}', '[{"loc": ["body"]}]'),
        ('{"message": "m", "code": 5}', "m"),
        ("", "(nothing)"),
        ("{}", "(nothing)"),
        ("w" * 500, "w" * 300 + "\u2026"),
        ("[" * 100_000, "[" * 300 + "\u2026"),
    ],
)
def test_a_server_s_words_are_one_short_line(body: str, said: str) -> None:
    assert words(body) == said


def test_delays_double_with_a_share_taken_off_that_follows_from_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ragjudge.judges.http.calling.FIRST_DELAY", 0.5)
    none, most = bytes(32), b"\xff" * 32
    assert [delay(attempt, none) for attempt in range(4)] == [0.5, 1, 2, 4]
    assert 0.5 * 0.5 < delay(0, most) < 0.51 * 0.5
    assert delay(40, none) == MOST_DELAY
    assert FIRST_DELAY > 0


def test_a_completion_comes_through_whole() -> None:
    with serving(lambda request: completion("\u00fc" * 100_000)) as server:
        assert completion("\u00fc" * 100_000).body == client_of(server).post({}).text
