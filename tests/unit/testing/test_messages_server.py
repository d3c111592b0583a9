from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from footplate.testing.messages import LoggedRequest, Model, ScriptedMessages, StreamError, api_error, say, script, tool

SRC = Path(__file__).resolve().parents[3] / "src"


@pytest.fixture(scope="module")
def api() -> Iterator[ScriptedMessages]:
    with ScriptedMessages.start() as started:
        yield started


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


class Connection:
    """One kept-alive connection of a client to the API."""

    def __init__(self, api: ScriptedMessages, key: str) -> None:
        url = urlsplit(api.url_for(key))
        self.prefix = url.path
        self.http = http.client.HTTPConnection(url.netloc, timeout=10)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.http.close()

    def begin(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> None:
        data = None if body is None else json.dumps(body).encode()
        self.http.request(method, self.prefix + path, data, headers or {})

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> http.client.HTTPResponse:
        self.begin(method, path, body, headers)
        return self.http.getresponse()


@pytest.fixture
def client(api: ScriptedMessages, key: str) -> Iterator[Connection]:
    with Connection(api, key) as connection:
        yield connection


def asking(prompt: str, *, stream: bool = True) -> dict[str, object]:
    return {"model": "m-1", "stream": stream, "messages": [{"role": "user", "content": prompt}]}


def events_in(data: bytes) -> list[dict[str, object]]:
    return [json.loads(line.removeprefix(b"data: ")) for line in data.splitlines() if line.startswith(b"data: ")]


def text_in(data: bytes) -> str:
    deltas = [event["delta"] for event in events_in(data) if event["type"] == "content_block_delta"]
    return "".join(str(delta.get("text", "")) for delta in deltas if isinstance(delta, dict))


def error_of(response: http.client.HTTPResponse) -> tuple[int, str, str]:
    answer = json.loads(response.read())
    assert answer["type"] == "error"
    return response.status, answer["error"]["type"], answer["error"]["message"]


def test_a_scripted_answer_is_streamed(client: Connection) -> None:
    response = client.ask("POST", "/v1/messages?beta=true", asking(script("hello world")))
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    data = response.read()
    assert text_in(data) == "hello world"
    assert [event["type"] for event in events_in(data)][-1] == "message_stop"


def test_without_stream_the_answer_is_one_document(client: Connection) -> None:
    response = client.ask("POST", "/v1/messages", asking(script("hello"), stream=False))
    answer = json.loads(response.read())
    assert (answer["content"], answer["stop_reason"]) == ([{"type": "text", "text": "hello"}], "end_turn")


def test_one_connection_serves_many_requests(client: Connection) -> None:
    for number in range(3):
        assert text_in(client.ask("POST", "/v1/messages", asking(script(str(number)))).read()) == str(number)


def test_a_body_in_chunks_is_understood(client: Connection) -> None:
    data = json.dumps(asking(script("chunked"))).encode()
    pieces = iter([data[:10], data[10:]])
    client.http.request("POST", client.prefix + "/v1/messages", pieces, encode_chunked=True)
    assert text_in(client.http.getresponse().read()) == "chunked"


def test_many_clients_are_served_at_once_while_others_hang(api: ScriptedMessages, key: str) -> None:
    def talk(number: int) -> str:
        with Connection(api, key) as one:
            answer = one.ask("POST", "/v1/messages", asking(script(say(str(number), chunk_delay=0.01))))
            return text_in(answer.read())

    with Connection(api, key) as hanging:
        hanging.begin("POST", "/v1/messages", asking(script(say("never", hang=True))))
        with ThreadPoolExecutor(10) as pool:
            assert list(pool.map(talk, range(30))) == [str(number) for number in range(30)]


def test_the_log_tells_what_was_asked(api: ScriptedMessages, client: Connection, key: str) -> None:
    body = asking(script("a")) | {"tools": [{"name": "Bash"}, {"name": "Read"}]}
    headers = {
        "X-Api-Key": "sk-ant-test-1",
        "Authorization": "Bearer test-2",
        "Anthropic-Beta": "one-1,two-2",
        "X-Stainless-Retry-Count": "3",
    }
    client.ask("POST", "/v1/messages?beta=true", body, headers).read()
    expected = LoggedRequest(
        key=key,
        method="POST",
        path="/v1/messages",
        auth={"authorization": "Bearer test-2", "x-api-key": "sk-ant-test-1"},
        betas=("one-1", "two-2"),
        retry=3,
        model="m-1",
        stream=True,
        tools=("Bash", "Read"),
        step=0,
        status=200,
        outcome="answered",
    )
    assert api.wait_for(key, ended=1) == (expected,)
    assert api.bodies(key) == (body,)


def test_each_key_has_its_own_log(api: ScriptedMessages, key: str) -> None:
    for each in ("a/b c", "d"):
        with Connection(api, f"{key} {each}") as connection:
            connection.ask("HEAD", "/").read()
    assert [each.key for each in api.log(f"{key} a/b c")] == [f"{key} a/b c"]
    api.clear(f"{key} a/b c")
    assert api.log(f"{key} a/b c") == ()
    assert len(api.log(f"{key} d")) == 1
    assert len(api.log()) >= 1


def test_an_error_has_the_shape_of_the_api(client: Connection) -> None:
    step = api_error(429, message="Slow down", headers={"retry-after": "7"})
    response = client.ask("POST", "/v1/messages", asking(script(step)))
    assert response.headers["retry-after"] == "7"
    assert error_of(response) == (429, "rate_limit_error", "Slow down")


def test_an_error_gives_way_after_so_many_times(api: ScriptedMessages, client: Connection, key: str) -> None:
    body = asking(script(api_error(529, times=2, then="at last")))
    assert error_of(client.ask("POST", "/v1/messages", body))[:2] == (529, "overloaded_error")
    assert error_of(client.ask("POST", "/v1/messages", body))[:2] == (529, "overloaded_error")
    assert text_in(client.ask("POST", "/v1/messages", body).read()) == "at last"
    api.clear(key)
    assert error_of(client.ask("POST", "/v1/messages", body))[0] == 529


def test_sessions_do_not_use_up_the_errors_of_one_another(client: Connection) -> None:
    prompt = asking(script(api_error(500, times=1, then="fine")))
    for session in ("s1", "s2"):
        body = prompt | {"metadata": {"user_id": session}}
        assert error_of(client.ask("POST", "/v1/messages", body))[0] == 500
        assert text_in(client.ask("POST", "/v1/messages", body).read()) == "fine"


def test_a_cut_stream_breaks_off_and_its_plain_repeat_is_answered(
    api: ScriptedMessages, client: Connection, key: str
) -> None:
    prompt = script(say("all of it", cut=3))
    response = client.ask("POST", "/v1/messages", asking(prompt))
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    assert [event["type"] for event in events_in(caught.value.partial)] == [
        "message_start",
        "ping",
        "content_block_start",
    ]
    client.http.close()
    plain = client.ask("POST", "/v1/messages", asking(prompt, stream=False))
    assert json.loads(plain.read())["content"] == [{"type": "text", "text": "all of it"}]
    assert [each.outcome for each in api.wait_for(key, ended=2)] == ["cut", "answered"]


def test_a_stream_can_fail_in_its_middle(client: Connection) -> None:
    step = say("a", sse_error=StreamError(type="api_error", message="Oops"))
    last = events_in(client.ask("POST", "/v1/messages", asking(script(step))).read())[-1]
    assert last == {"type": "error", "error": {"type": "api_error", "message": "Oops"}}


def test_a_hanging_request_ends_when_the_client_goes(api: ScriptedMessages, client: Connection, key: str) -> None:
    client.begin("POST", "/v1/messages", asking(script(say("never", hang=True))))
    [waiting] = api.wait_for(key, count=1)
    assert (waiting.status, waiting.outcome) == (0, "open")
    client.http.close()
    [left] = api.wait_for(key, ended=1)
    assert (left.status, left.outcome) == (0, "gone")


def test_a_stream_can_fall_silent_after_its_words(api: ScriptedMessages, client: Connection, key: str) -> None:
    response = client.ask("POST", "/v1/messages", asking(script(say("half a", hang=-3))))
    data = b""
    while b"text_delta" not in data:
        data += response.read1()
    assert text_in(data) == "half a"
    response.close()
    client.http.close()
    [left] = api.wait_for(key, ended=1)
    assert (left.status, left.outcome) == (200, "gone")


def test_a_client_that_leaves_during_a_delay_is_noticed(api: ScriptedMessages, client: Connection, key: str) -> None:
    client.begin("POST", "/v1/messages", asking(script(say("late", delay=3600.0))))
    api.wait_for(key, count=1)
    client.http.close()
    assert [each.outcome for each in api.wait_for(key, ended=1)] == ["gone"]


def test_waiting_in_vain_tells_what_has_come(api: ScriptedMessages, client: Connection, key: str) -> None:
    client.ask("HEAD", "/").read()
    with pytest.raises(TimeoutError, match=r"asked 1 times.*'HEAD', '/'"):
        api.wait_for(key, count=1, timeout=0.05)


def test_headers_can_be_given(client: Connection) -> None:
    step = say("a", headers={"anthropic-ratelimit-unified-status": "allowed", "request-id": "req_mine"})
    response = client.ask("POST", "/v1/messages", asking(script(step)))
    response.read()
    assert response.headers["anthropic-ratelimit-unified-status"] == "allowed"
    assert response.headers.get_all("request-id") == ["req_mine"]


def test_a_malformed_script_is_refused_with_its_place(client: Connection) -> None:
    response = client.ask("POST", "/v1/messages", asking('go SCRIPT:["a" "b"]'))
    status, kind, message = error_of(response)
    assert (status, kind) == (400, "invalid_request_error")
    assert message.startswith("malformed SCRIPT in message 0: Expecting ',' delimiter at character 5")


def test_a_script_that_no_text_can_carry_is_refused(client: Connection) -> None:
    assert error_of(client.ask("POST", "/v1/messages", asking('SCRIPT:["\\ud800"]')))[0] == 400


def test_a_body_that_is_no_request_is_refused(api: ScriptedMessages, client: Connection, key: str) -> None:
    assert error_of(client.ask("POST", "/v1/messages", ["not", "an", "object"]))[0] == 400
    client.http.request("POST", client.prefix + "/v1/messages", b"{nonsense")
    assert error_of(client.http.getresponse())[0] == 400
    assert [each.status for each in api.log(key)] == [400, 400]


def test_the_small_endpoints_answer(client: Connection) -> None:
    head = client.ask("HEAD", "/")
    assert (head.status, head.read()) == (200, b"")
    counted = client.ask("POST", "/v1/messages/count_tokens", asking("how long is this"))
    assert json.loads(counted.read())["input_tokens"] > 1
    assert error_of(client.ask("GET", "/v2/nothing"))[:2] == (404, "not_found_error")


def test_models_are_listed_page_by_page(api: ScriptedMessages, client: Connection, key: str) -> None:
    api.set_models(["m-1", Model(id="m-2", display_name="Two"), "m-3"], key=key)
    first = json.loads(client.ask("GET", "/v1/models?limit=2").read())
    assert ([each["id"] for each in first["data"]], first["has_more"]) == (["m-1", "m-2"], True)
    second = json.loads(client.ask("GET", f"/v1/models?limit=2&after_id={first['last_id']}").read())
    assert ([each["id"] for each in second["data"]], second["has_more"]) == (["m-3"], False)
    assert json.loads(client.ask("GET", "/v1/models/m-2").read())["display_name"] == "Two"
    assert error_of(client.ask("GET", "/v1/models/m-9"))[:2] == (404, "not_found_error")
    assert error_of(client.ask("GET", "/v1/models?after_id=m-9"))[0] == 400


def test_tools_and_results_go_round(client: Connection) -> None:
    prompt = script(tool("Bash", {"command": "echo hi"}, text="Look:"), "It said $LAST")
    first = json.loads(client.ask("POST", "/v1/messages", asking(prompt, stream=False)).read())
    assert first["stop_reason"] == "tool_use"
    call = first["content"][1]
    history = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "hi"}]},
    ]
    second = client.ask("POST", "/v1/messages", {"model": "m-1", "stream": True, "messages": history})
    assert text_in(second.read()) == "It said hi"


def test_what_is_no_http_is_refused(api: ScriptedMessages) -> None:
    url = urlsplit(api.base_url)
    with socket.create_connection((str(url.hostname), url.port or 0), timeout=10) as raw:
        raw.sendall(b"NONSENSE\r\n\r\n")
        with raw.makefile("rb") as answer:
            assert answer.read().startswith(b"HTTP/1.1 400 ")


def test_a_wrong_control_request_is_refused(api: ScriptedMessages) -> None:
    with Connection(api, "") as connection:
        connection.prefix = ""
        assert error_of(connection.ask("GET", "/_log?count=many"))[0] == 400
        assert error_of(connection.ask("POST", "/_models", {"no": "list"}))[0] == 400
        assert error_of(connection.ask("GET", "/_nothing"))[0] == 404


def test_it_listens_on_the_loopback_only(api: ScriptedMessages) -> None:
    assert urlsplit(api.base_url).hostname == "127.0.0.1"


def test_closing_leaves_no_process_and_no_descriptor() -> None:
    before = os.listdir("/dev/fd")  # noqa: PTH208 - the names are the descriptors
    started = ScriptedMessages.start()
    with Connection(started, "k") as connection:
        connection.begin("POST", "/v1/messages", asking(script(say("never", hang=True))))
        started.wait_for("k", count=1)
        started.close()
        started.close()
    with pytest.raises(ProcessLookupError):
        os.kill(started.pid, 0)
    assert os.listdir("/dev/fd") == before  # noqa: PTH208


def start_by_hand(stdin: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "footplate.testing.messages", "--port", "0"]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, env={"PYTHONPATH": str(SRC)})


def test_run_by_hand_it_prints_its_address_and_ends_with_its_stdin() -> None:
    with start_by_hand(subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        process.stdin.close()
        assert process.wait(10) == 0


def test_run_by_hand_without_a_pipe_it_lives_until_a_signal() -> None:
    with start_by_hand(subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_port_that_is_taken_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(RuntimeError, match=r"did not start \(exit code 1\)"):
            ScriptedMessages.start(port=taken.getsockname()[1])
    assert "address already in use" in capfd.readouterr().err
