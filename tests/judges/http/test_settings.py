from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ragjudge.errors import ConfigError, JudgeUnavailableError
from ragjudge.judges.base import Identity
from ragjudge.judges.http.settings import HttpSettings, parse_address

URL = "http://localhost:8080/v1"

# Every setting is either here, with another value that must change the fingerprint, or in OUT.
IN: dict[str, Any] = {
    "base_url": "http://localhost:8081/v1",
    "model": "other",
    "identity": "workstation",
    "strategy": "text",
    "extra": {"seed": 1},
}
OUT: dict[str, Any] = {
    "api_key_env": "SOME_KEY",
    "accept_models": ("other",),
    "max_tokens": 100,
    "concurrency": 1,
    "timeout": 5.0,
    "retries": 0,
}


def settings(**changes: Any) -> HttpSettings:
    return HttpSettings(**{"base_url": URL, "model": "m", **changes})


def test_every_setting_is_classified_as_in_or_out_of_the_identity() -> None:
    assert {field.name for field in dataclasses.fields(HttpSettings)} == IN.keys() | OUT.keys()
    assert not IN.keys() & OUT.keys()


@pytest.mark.parametrize("name", IN)
def test_a_setting_that_can_change_an_answer_changes_the_fingerprint(name: str) -> None:
    assert settings(**{name: IN[name]}).who().fingerprint != settings().who().fingerprint


@pytest.mark.parametrize("name", OUT)
def test_a_setting_that_cannot_change_an_answer_leaves_the_fingerprint(name: str) -> None:
    assert settings(**{name: OUT[name]}).who().fingerprint == settings().who().fingerprint


def test_the_identity_is_server_model_and_what_changes_answers() -> None:
    document: dict[str, Any] = {"kind": "http", "server": URL, "model": "m", "strategy": "auto", "extra": {}}
    assert settings().who() == Identity(document)
    assert settings(identity="workstation").who().document["server"] == "workstation"


def test_the_fingerprint_is_the_one_of_the_first_release() -> None:
    assert settings().who().fingerprint == "6553fbc995af78b931131bbad15cba533a6b3d3c29a0be167385873a3f03cac2"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
        ("HTTP://LocalHost:8080/v1/", "http://localhost:8080/v1"),
        ("http://localhost", "http://localhost:80"),
        ("https://host/v1", "https://host:443/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        (" http://10.0.0.7:11434/v1 ", "http://10.0.0.7:11434/v1"),
    ],
)
def test_one_address_has_one_spelling(url: str, address: str) -> None:
    assert str(parse_address(url)) == address


@pytest.mark.parametrize(
    "url", ["localhost:8080/v1", "ftp://host/v1", "http:///v1", "http://host:0/v1", "http://h/a b"]
)
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(ConfigError, match=r"base_url is .* accepted: http://HOST:PORT/PATH"):
        parse_address(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@host/v1",
        "me:hunter2@host:80/v1",
        "http://host/v1?key=hunter2",
        "http://host/v1#hunter2",
        "http://host:hunter2/v1",
        "http://[hunter2/v1",
    ],
)
def test_an_address_that_may_hold_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(url)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"
    assert "without a user, password or query" in caught.value.message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": " "}, "judge 'http': model is ' '; accepted: a text that is not empty."),
        ({"identity": ""}, "judge 'http': identity is ''; accepted: a text that is not empty."),
        ({"accept_models": ("",)}, "judge 'http': accept_models is ''; accepted: a text that is not empty."),
        (
            {"strategy": "best"},
            "judge 'http': strategy is 'best'; accepted: auto, logprobs, constrained, text.",
        ),
        ({"concurrency": 0}, "judge 'http': concurrency is 0; accepted: a whole number from 1 to 1,000."),
        ({"retries": -1}, "judge 'http': retries is -1; accepted: a whole number from 0 to 1,000."),
        (
            {"max_tokens": 1.5},
            "judge 'http': max_tokens is 1.5; accepted: a whole number from 1 to 10,000,000.",
        ),
        (
            {"retries": 10**23},
            f"judge 'http': retries is {10**23}; accepted: a whole number from 0 to 1,000.",
        ),
        (
            {"timeout": 0},
            "judge 'http': timeout is 0; accepted: a number of seconds above 0, up to 1,000,000.",
        ),
        (
            {"timeout": float("inf")},
            "judge 'http': timeout is inf; accepted: a number of seconds above 0, up to 1,000,000.",
        ),
        (
            {"timeout": float("nan")},
            "judge 'http': timeout is nan; accepted: a number of seconds above 0, up to 1,000,000.",
        ),
        ({"extra": {"model": "x"}}, "judge 'http': extra holds 'model', which the judge sets itself."),
        (
            {"extra": {"x": float("nan")}},
            "judge 'http': extra is no JSON object; accepted: fields of a request.",
        ),
        (
            {"extra": {"a": [{"api_key": "s"}]}},
            "judge 'http': extra holds 'api_key', which reads like a credential.",
        ),
    ],
)
def test_a_setting_that_cannot_be_meant_is_one_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(**changes)
    assert caught.value.message == message


@pytest.mark.parametrize("value", ["sk-abc123", "hf_abcDEF", "MY KEY", ""])
def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(api_key_env=value)
    assert not value or value not in f"{caught.value.message} {caught.value.hint}"
    assert "not the name of an environment variable" in caught.value.message


def test_the_key_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret\n")
    assert settings(api_key_env="SOME_KEY").key() == "secret"
    assert settings().key() is None


@pytest.mark.parametrize(
    ("value", "what"), [("", "is not set"), ("a b", "holds no key"), ("schl\u00fcssel", "holds no key")]
)
def test_a_variable_without_a_key_is_named(monkeypatch: pytest.MonkeyPatch, value: str, what: str) -> None:
    monkeypatch.setenv("SOME_KEY", value)
    with pytest.raises(JudgeUnavailableError, match=f"SOME_KEY {what}"):
        settings(api_key_env="SOME_KEY").key()


def test_the_model_that_answered_is_accepted_when_it_was_asked_for_or_is_listed() -> None:
    found = settings(accept_models=("m-q4",))
    assert [found.accepts(served) for served in ("m", "m-q4", None, "n", "")] == [
        True,
        True,
        True,
        False,
        False,
    ]
