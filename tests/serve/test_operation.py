"""Keys, limits, logs, metrics, reloading and readiness."""

import asyncio
import json
import socket
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli import _application
from regard.errors import SettingsError
from regard.serve import lifecycle
from regard.serve.keys import Keys, hash_of, new_key
from regard.serve.lifecycle import bound
from regard.serve.limits import Allowance, Limits
from regard.serve.serve_settings import ServeSettings
from regard.translation.garbage import no_garbage
from serving import Running, running
from trained import translation

ASKED = {"q": "gan", "source": "en", "target": "de"}
SAID = {"translatedText": translation("gan")}


@pytest.fixture(scope="module")
def secrets() -> dict[str, str]:
    return {name: new_key(name)[0] for name in ("weblate", "slow", "boss")}


@pytest.fixture(scope="module")
def keyed(
    both_ways: list[Path], secrets: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    more = {"weblate": "", "slow": "requests_per_minute = 2\nmax_characters = 50\n", "boss": "admin = true\n"}
    entries = [f'[[key]]\nname = "{name}"\nhash = "{hash_of(key)}"\n{more[name]}' for name, key in secrets.items()]
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.write_text("\n".join(entries))
    with running(both_ways[:1], keys=path) as server:
        yield server


def test_a_key_is_needed_where_there_are_keys_and_found_wherever_it_stands(
    keyed: Running, secrets: dict[str, str]
) -> None:
    assert keyed.post("/translate", ASKED) == (400, {"error": "Please contact the server operator to get an API key"})
    assert keyed.post("/translate", ASKED | {"api_key": "wrong"}) == (403, {"error": "Invalid API key"})
    assert keyed.post("/translate", ASKED | {"api_key": secrets["weblate"]}) == (200, SAID)
    assert keyed.post(f"/translate?api_key={secrets['weblate']}", ASKED) == (200, SAID)
    assert keyed.post("/translate", ASKED, Authorization=f"Bearer {secrets['weblate']}") == (200, SAID)
    asked = {"text": "gan", "target": "de"}
    assert keyed.post("/v1/translate", asked)[0] == 400
    assert keyed.post("/v1/translate", asked | {"api_key": secrets["weblate"]})[0] == 200
    assert keyed.get("/frontend/settings")[1]["keyRequired"] is True


def test_a_key_has_limits_of_its_own_and_the_answer_says_when_to_come_back(
    keyed: Running, secrets: dict[str, str]
) -> None:
    asked = ASKED | {"api_key": secrets["slow"]}
    assert keyed.post("/translate", asked | {"q": "a" * 51})[0] == 400
    assert [keyed.post("/translate", asked)[0] for _ in range(2)] == [200, 200]
    answer = keyed.request("POST", "/translate", json=asked)
    assert answer.status_code == 429
    assert answer.json()["error"].startswith("Slowdown: 2 requests per minute")
    assert 1 <= int(answer.headers["retry-after"]) <= 61
    assert keyed.post("/translate", ASKED | {"api_key": secrets["weblate"]}) == (200, SAID)


def test_only_an_admin_reloads_and_reads_metrics_and_a_reload_leaves_no_gap(
    keyed: Running, secrets: dict[str, str]
) -> None:
    boss = f"Bearer {secrets['boss']}"
    assert keyed.post("/admin/reload", {})[0] == 403
    assert keyed.post("/admin/reload", {}, Authorization=f"Bearer {secrets['weblate']}")[0] == 403
    assert keyed.get("/metrics")[0] == 403
    before, answers, over = keyed.state.catalogue.models[0], list[tuple[int, object]](), threading.Event()

    def ask() -> None:
        while not over.is_set() or not answers:
            answers.append(keyed.post("/translate", ASKED | {"api_key": secrets["weblate"]}))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert keyed.post("/admin/reload", {}, Authorization=boss) == (200, {"models": ["en-de"]})
    over.set()
    for thread in threads:
        thread.join()
    assert set(map(str, answers)) == {str((200, SAID))}
    assert keyed.state.catalogue.models[0] is not before
    status, metrics = keyed.get("/metrics", Authorization=boss)
    assert status == 200
    for name in (
        b'regard_requests_total{route="/translate",status="200"}',
        b'regard_translation_seconds_count{model="en-de"}',
        b'regard_batch_sentences_count{model="en-de"}',
        b'regard_tokens_total{model="en-de"}',
        b'regard_waiting_sentences{model="en-de"} 0.0',
        b"regard_requests_in_progress",
        b'regard_reloads_total{result="done"} 1.0',
    ):
        assert name in metrics


def test_a_reload_that_fails_leaves_models_and_keys_as_they_were(keyed: Running, secrets: dict[str, str]) -> None:
    path = keyed.state.settings.keys
    assert path is not None
    good = path.read_text()
    path.write_text("[[key]]\nname = 5\n")
    try:
        status, answer = keyed.post("/admin/reload", {}, Authorization=f"Bearer {secrets['boss']}")
    finally:
        path.write_text(good)
    assert status == 500
    assert "stay as they were" in answer["error"]
    assert keyed.post("/translate", ASKED | {"api_key": secrets["weblate"]}) == (200, SAID)


def test_logs_have_a_line_for_each_request_and_neither_texts_nor_keys(keyed: Running, secrets: dict[str, str]) -> None:
    asked = ASKED | {"q": "alto jelo holud", "api_key": secrets["weblate"]}
    keyed.request("POST", "/translate", params=asked, headers={"X-Request-ID": "line-1"})
    keyed.request("POST", "/translate", params=asked | {"api_key": "wrong-key-9"})
    keyed.request("GET", "/no/such/jelo-address")
    written = keyed.written()
    lines = [json.loads(line) for line in written.splitlines()]
    (own,) = [line for line in lines if line.get("id") == "line-1"]
    assert (own["route"], own["status"], own["characters"], own["models"]) == ("/translate", 200, 15, ["en-de"])
    assert own["client"] == "key weblate"
    for secret in (*secrets.values(), "wrong-key-9", "jelo", "holud", translation("jelo")):
        assert secret not in written


def test_above_the_limit_requests_are_told_to_come_back_and_never_wait_without_an_answer(both_ways: list[Path]) -> None:
    import httpx

    with running(both_ways[:1], max_requests=2) as server:
        hold = threading.Event()
        for _ in range(2):
            job = server.state.service.start(1)
            server.state.service._threads.submit(server.state.service._run, job, hold.wait, 1)
        answer = httpx.post(f"{server.url}/translate", json=ASKED, trust_env=False)
        hold.set()
    assert answer.status_code == 429
    assert answer.json()["error"].startswith("Slowdown: ")
    assert int(answer.headers["retry-after"]) >= 1


def test_an_answer_that_takes_too_long_is_given_up_with_an_error(both_ways: list[Path]) -> None:
    with running(both_ways[:1], answer_seconds=0.05) as server:
        status, answer = server.post("/translate", ASKED | {"q": ["alto cado esta " * 20] * 300})
        assert status == 503
        assert "0.05 seconds" in answer["error"]
        end = 400
        while server.state.service.admission.requests and end:
            threading.Event().wait(0.05)
            end -= 1
        assert server.state.service.admission.requests == 0


def test_a_client_that_goes_away_frees_its_places(both_ways: list[Path]) -> None:
    with running(both_ways[:1]) as server:

        async def leave() -> None:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            body = json.dumps(ASKED | {"q": ["alto cado esta " * 20] * 300}).encode()
            head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
            writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body)
            while not server.state.catalogue.models[0].engine.waiting:
                await asyncio.sleep(0.01)
            writer.close()

        asyncio.run(leave())
        while server.state.service.admission.requests:
            threading.Event().wait(0.01)
        assert server.state.catalogue.models[0].engine.waiting == 0
        assert server.post("/translate", ASKED) == (200, SAID)
    statuses = [json.loads(line).get("status") for line in server.log.getvalue().splitlines()]
    assert 499 in statuses


def test_it_is_alive_and_ready_until_it_stops(served: Running) -> None:
    assert served.get("/health/live") == (200, {"status": "ok"})
    assert served.get("/health/ready")[0] == 200
    served.state.draining = True
    try:
        answer = served.request("GET", "/health/ready")
        assert answer.status_code == 503
        assert answer.headers["connection"] == "close"
        assert served.get("/health/live")[0] == 200
    finally:
        served.state.draining = False


def test_a_server_that_is_ready_has_translated_once_so_the_first_request_waits_for_no_library(
    both_ways: list[Path],
) -> None:
    with running(both_ways) as server:
        metrics = server.get("/metrics")[1].decode()
        for model in ("en-de", "de-en"):
            assert f'regard_batch_sentences_count{{model="{model}"}} 1.0' in metrics


def test_cyclic_garbage_goes_though_some_text_is_always_being_translated(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.get("/health")[0] == 200
    monkeypatch.setattr(lifecycle, "_YOUNG", 1 << 40)  # never reached, whatever other tests have left behind
    with no_garbage():
        cycle: list[object] = [threading.Event()]
        cycle.append(cycle)
        gone = threading.Event()
        weakref.finalize(cycle[0], gone.set)
        del cycle
        assert not gone.wait(0.2)
        monkeypatch.setattr(lifecycle, "_YOUNG", 1)
        assert gone.wait(20)


def test_a_bucket_fills_again_and_clients_do_not_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("regard.serve.limits.time.monotonic", lambda: now[0])
    limits, allowance = Limits(), Allowance(requests=2, characters=100)
    limits.spend("a", allowance, 60)
    with pytest.raises(Exception, match="100 characters per minute"):
        limits.spend("a", allowance, 60)
    limits.spend("b", allowance, 60)
    now[0] += 30
    limits.spend("a", allowance, 60)
    limits.spend("c", Allowance(requests=1), 0)
    with pytest.raises(Exception, match="1 requests per minute"):
        limits.spend("c", Allowance(requests=1), 0)


def test_a_file_of_keys_that_is_wrong_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    entry = f'[[key]]\nname = "a"\nhash = "{hash_of("x")}"\n'
    for content, told in (
        ("[[key]]\nname = 'a'\n", "key.0.hash"),
        (entry.replace("hash = ", "hsh = "), "hsh"),
        (entry + entry, "two keys"),
        ("= 5", "not valid TOML"),
    ):
        path.write_text(content)
        with pytest.raises(SettingsError, match=told):
            Keys(path)
    path.write_text(entry)
    assert Keys(path).find("x") is not None
    assert Keys(path).find("y") is None


def test_the_command_makes_a_key_whose_entry_is_valid(tmp_path: Path) -> None:
    told = CliRunner().invoke(_application(), ["serve", "--new-key", "weblate"]).output
    key = told.partition("anywhere: ")[2].split()[0]
    path = tmp_path / "keys.toml"
    path.write_text("[[key]]" + told.partition("[[key]]")[2])
    found = Keys(path).find(key)
    assert found is not None
    assert found.name == "weblate"


def test_the_command_says_what_is_missing_or_taken() -> None:
    nothing = CliRunner().invoke(_application(), ["serve"])
    assert isinstance(nothing.exception, SettingsError)
    assert "regard serve en-de" in str(nothing.exception)
    with bound(ServeSettings(port=0)) as taken, pytest.raises(SettingsError, match="--port"):
        bound(ServeSettings(port=taken.getsockname()[1]))


def test_the_body_of_an_answer_is_not_held_back_until_its_head_is_confirmed(served: Running) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        own = client.getsockname()
        sockets = [one.transport.get_extra_info("socket") for one in served.server.server_state.connections]
        (ours,) = [one for one in sockets if one.getpeername() == own]
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
