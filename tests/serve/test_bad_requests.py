"""Requests that are broken, slow, too large or hostile: each is answered with what is wrong, and none does harm."""

import io
import json
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Running, running
from trained import translation

ASKED = {"q": "gan", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def strict(both_ways: list[Path]) -> Iterator[Running]:
    """A server with little patience and little room."""
    limits = {"max_body": 20_000, "max_file": 50_000, "body_seconds": 0.5, "header_seconds": 0.5}
    with running(both_ways[:1], **limits) as server:
        yield server


def error(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


def upload(server: Running, name: str, content: bytes, **fields: str) -> tuple[int, dict[str, str]]:
    values = {"source": "en", "target": "de"} | fields
    answer = server.request("POST", "/translate_file", data=values, files={"file": (name, content)})
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b'{"q": "gan", ', "application/json", "not valid JSON"),
        (b'["gan"]', "application/json", "Invalid JSON format"),
        (b"[" * 15_000, "application/json", "not valid JSON"),
        (b'{"q": "\xff\xfe", "source": "en", "target": "de"}', "application/json", "not UTF-8"),
        ('{"q": "ä", "source": "en"}'.encode("latin-1"), "application/json; charset=latin-1", "not UTF-8"),
        ('{"q": "ä"}'.encode("utf-16"), "application/json", "not UTF-8"),
        (b"q=%ff%fe&source=en&target=de", "application/x-www-form-urlencoded", "not UTF-8"),
        (b"a&" * 20, "application/x-www-form-urlencoded", "missing q"),
        (b"a=1&" * 2000, "application/x-www-form-urlencoded", "fields"),
        (b"--x\r\nContent-Disposition: form-data; name=q\r\n\r\ngan", "multipart/form-data; boundary=x", "incomplete"),
        (b"rubbish", "multipart/form-data; boundary=x", "Invalid request"),
        (b"rubbish", "multipart/form-data", "boundary"),
        (b"\x00\x01\x02", "application/octet-stream", "missing q"),
        (b'{"q": "\\ud800", "source": "en", "target": "de"}', "application/json", ""),
    ],
)
def test_a_body_that_cannot_be_read_is_an_error_that_says_why(
    strict: Running, body: bytes, kind: str, reason: str
) -> None:
    status, answer = strict.send("/translate", body, {"Content-Type": kind})
    assert status == 400
    assert reason in answer["error"]


def test_a_body_that_is_too_large_is_refused_however_it_comes(strict: Running) -> None:
    status, answer = strict.post("/translate", ASKED | {"q": "a" * 10_000_000})
    assert status == 413
    assert "20,000 bytes" in answer["error"]
    chunks = (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"4000\r\n" + b"a" * 0x4000 + b"\r\n") * 8
        + b"0\r\n\r\n"
    )
    assert error(strict.raw(chunks))[0] == 413
    expecting = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"
    assert error(strict.raw(expecting))[0] == 413


def test_a_body_that_does_not_come_is_answered_and_so_are_headers_that_do_not_come(strict: Running) -> None:
    slow = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
    status, told = error(strict.raw(slow))
    assert status == 408
    assert "0.5 seconds" in told
    for beginning in (b"", b"POST /transl", b"GET /languages HTTP/1.1\r\nHost:"):
        status, told = error(strict.raw(beginning))
        assert status == 408
        assert "headers" in told


def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_nothing_behind(strict: Running) -> None:
    with socket.create_connection(("127.0.0.1", strict.port)) as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
    assert strict.post("/translate", ASKED) == (200, {"translatedText": translation("gan")})
    assert strict.state.service.admission.requests == 0


def test_what_is_not_http_is_told_so(strict: Running) -> None:
    assert strict.raw(b"\x16\x03\x01 this is TLS\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_headers_cannot_be_injected(strict: Running) -> None:
    for given in ("a\r\nSet-Cookie: x=1", "a\nb", "ä", "<script>", "a" * 100):
        raw = f"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-ID: {given}\r\n\r\n"
        head = strict.raw(raw.encode("latin-1")).partition(b"\r\n\r\n")[0].lower()
        assert b"set-cookie" not in head
        assert b"<script" not in head
        assert len(head) < 2000
    answer = strict.request("GET", "/health", headers={"X-Request-ID": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    status, answer_to_upload = upload(strict, 'a"\r\nX-Evil: 1.txt', b"gan\n")
    assert status == 200
    download = strict.request("GET", "/download_file/" + answer_to_upload["translatedFileUrl"].rpartition("/")[2])
    assert "x-evil" not in download.headers
    assert "\n" not in download.headers["content-disposition"]


def test_a_document_is_translated_and_downloaded_once_and_again(strict: Running) -> None:
    status, answer = upload(strict, "a text.txt", b"gan\n\nalto cado\n")
    assert status == 200
    name = answer["translatedFileUrl"].rpartition("/download_file/")[2]
    assert name.endswith(".a_text_de.txt")
    for _ in range(2):
        download = strict.request("GET", f"/download_file/{name}")
        assert download.text == f"{translation('gan')}\n\n{translation('alto cado')}\n"
        assert "attachment" in download.headers["content-disposition"]
        assert download.headers["x-content-type-options"] == "nosniff"
    strict.state.uploads.tidy()
    assert upload(strict, "a.txt", b"alto\n", source="auto")[0] == 200


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "..\\..\\etc\\passwd",
        "%00",
    ],
)
def test_no_path_leads_out_of_the_folder_of_downloads(strict: Running, name: str) -> None:
    for path in (f"/download_file/{name}", f"/{name}"):
        answer = strict.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"404", b"400")
        assert b"root:" not in answer


def test_the_name_of_an_upload_cannot_choose_where_it_lies(strict: Running) -> None:
    status, answer = upload(strict, "../../../../tmp/evil.txt", b"gan\n")
    assert status == 200
    assert answer["translatedFileUrl"].endswith(".evil_de.txt")
    assert not Path("/tmp/evil.txt").exists()  # noqa: S108


def test_files_that_are_no_documents_are_refused(strict: Running) -> None:
    assert upload(strict, "a.exe", b"MZ") == (400, {"error": "Invalid request: file format not supported"})
    assert upload(strict, "a.txt.gz", b"x") == (400, {"error": "Invalid request: file format not supported"})
    status, answer = upload(strict, "a.txt", b"\xff\xfe\x00gan")
    assert status == 400
    assert "UTF" in answer["error"]
    assert "/tmp" not in answer["error"]  # noqa: S108
    assert upload(strict, "a.txt", b"a" * 60_000)[0] == 413
    assert upload(strict, "a.txt", b"gan", source="zz") == (400, {"error": "zz is not supported"})
    answer_without = strict.request("POST", "/translate_file", data={"source": "en", "target": "de"})
    assert answer_without.status_code == 400


def test_a_zip_bomb_is_refused_before_it_is_unpacked(strict: Running) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a/>" * 5_000_000)
    name = "a.docx" if ".docx" in strict.state.uploads.suffixes else "a.txt"
    status, answer = upload(strict, name, buffer.getvalue())
    assert status == 400
    assert "unpacks to more than" in answer["error"]


def test_an_xml_bomb_is_refused(strict: Running) -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{entities}]>'
    body = '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
    unit = '<trans-unit id="1"><source>&a9;</source></trans-unit></body></file></xliff>'
    status, answer = upload(strict, "a.xlf", (bomb + body + unit).encode())
    assert status == 400
    assert "DOCTYPE" in answer["error"] or "entit" in answer["error"].lower()


def test_a_text_never_comes_back_as_markup_or_script(strict: Running) -> None:
    answer = strict.request("POST", "/translate", json=ASKED | {"q": "<script>alert(1)</script> gan"})
    assert answer.headers["content-type"] == "application/json"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    missing = strict.request("GET", "/<script>alert(1)</script>")
    assert missing.status_code == 404
    assert b"<script>" not in missing.content
