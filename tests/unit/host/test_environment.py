"""Environments: built from a list, never inherited."""

from __future__ import annotations

import pytest

from footplate.host.environment import BASE_NAMES, build_environment, matches_any

MACHINE = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C.UTF-8",
    "XDG_CONFIG_HOME": "/cfg",
    "https_proxy": "http://p",
    "NO_PROXY": "localhost",
    "GIT_AUTHOR_NAME": "me",
    "SSL_CERT_FILE": "/certs",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "ANTHROPIC_API_KEY": "key",
    "CLAUDECODE": "1",
    "PYTHONPATH": "/src",
}


def test_only_names_of_the_list_get_through() -> None:
    assert set(build_environment(MACHINE)) == {
        "PATH",
        "HOME",
        "LC_ALL",
        "XDG_CONFIG_HOME",
        "https_proxy",
        "NO_PROXY",
        "GIT_AUTHOR_NAME",
        "SSL_CERT_FILE",
    }


def test_allowed_globs_get_through_too() -> None:
    assert build_environment(MACHINE, allow=["ANTHROPIC_*"])["ANTHROPIC_API_KEY"] == "key"


def test_denied_wins_over_allowed_and_over_the_list() -> None:
    built = build_environment(MACHINE, allow=["*"], deny=["AWS_*", "GIT_*", "CLAUDECODE"])
    assert set(MACHINE) - set(built) == {"AWS_SECRET_ACCESS_KEY", "GIT_AUTHOR_NAME", "CLAUDECODE"}


def test_extra_wins_over_everything() -> None:
    built = build_environment(MACHINE, deny=["PATH", "TOKEN"], extra={"PATH": "/opt/bin", "TOKEN": "t"})
    assert (built["PATH"], built["TOKEN"]) == ("/opt/bin", "t")


def test_the_source_is_left_as_it_was() -> None:
    before = dict(MACHINE)
    build_environment(MACHINE, extra={"PATH": "x"})["HOME"] = "y"
    assert before == MACHINE


@pytest.mark.parametrize("name", ["path", "MY_PATH", "PATHS", "HTTP_PROXY_PASSWORD", "SSH_AUTH_SOCKET"])
def test_a_name_must_fit_whole_and_capitals_count(name: str) -> None:
    assert not matches_any(name, BASE_NAMES)
