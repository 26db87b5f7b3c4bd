"""The fault proxy fails as it is told, and its log says what the client saw."""

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from backstay_parts.faults import Answer, Fault, FaultProxy, access_denied
from backstay_parts.servers import ServerProcess, free_port

CONTENT = b"0123456789" * 2000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("files")
    folder.joinpath("file.bin").write_bytes(CONTENT)
    port = free_port()
    argv = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with ServerProcess(argv, port=port, name="files") as running:
        yield running


@pytest.fixture
def proxy(server: ServerProcess) -> Iterator[FaultProxy]:
    with FaultProxy.before(server.url) as running:
        yield running


def test_it_passes_what_is_asked_and_answered(proxy: FaultProxy) -> None:
    answer = httpx.get(f"{proxy.url}/file.bin?part=1&list=")

    assert answer.content == CONTENT
    assert [(line.method, line.path, line.query, line.status) for line in proxy.log] == [
        ("GET", "/file.bin", {"part": "1", "list": ""}, 200)
    ]


def test_a_dead_server_refuses_and_comes_back(proxy: FaultProxy) -> None:
    proxy.mode = Fault.REFUSE
    with pytest.raises(httpx.ConnectError):
        httpx.get(proxy.url)

    proxy.mode = Fault.PASS
    assert httpx.get(f"{proxy.url}/file.bin").status_code == 200


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.LOSE_ANSWER, Fault.CUT])
def test_a_broken_connection_is_an_error_of_the_network(proxy: FaultProxy, fault: Fault) -> None:
    proxy.mode = fault

    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        httpx.get(f"{proxy.url}/file.bin")

    assert proxy.log[-1].fault == fault


def test_a_hanging_server_is_a_time_out(proxy: FaultProxy) -> None:
    proxy.mode = Fault.HANG

    with pytest.raises(httpx.ReadTimeout):
        httpx.get(proxy.url, timeout=0.3)


def test_the_next_connections_fail_in_order(proxy: FaultProxy) -> None:
    proxy.next_faults([Answer(503, headers=(("Retry-After", "7"),)), access_denied()])

    answers = [httpx.post(f"{proxy.url}/file.bin", content=b"x" * 200_000) for _ in range(2)]
    last = httpx.get(f"{proxy.url}/file.bin")

    assert [answer.status_code for answer in answers] == [503, 403]
    assert answers[0].headers["Retry-After"] == "7"
    assert "<Code>AccessDenied</Code>" in answers[1].text
    assert last.content == CONTENT


def test_a_rule_fails_some_paths_only(proxy: FaultProxy) -> None:
    proxy.rule = lambda method, path: access_denied() if path.startswith("/secret") else None

    assert httpx.get(f"{proxy.url}/secret/x").status_code == 403
    assert httpx.get(f"{proxy.url}/file.bin").status_code == 200
