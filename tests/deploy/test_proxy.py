"""``deploy/nginx`` in a real nginx, in front of a server that tells what it was sent."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apps.accounts.models import User
from apps.core.asgi import FORM_BYTES
from tests.support.http_server import HttpServer
from tests.support.installations import DEPLOY, find_free_port, render_nginx
from tests.support.processes import wait_until
from tests.support.tools import find_or_install, run_tool

pytestmark = pytest.mark.long

SPOOFED = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "443",
    "Forwarded": "for=203.0.113.9;proto=https",
}


@pytest.fixture(scope="module")
def nginx() -> str:
    return find_or_install("nginx", package="nginx-light")


class Upstream(BaseHTTPRequestHandler):
    """Sends back the headers it got, or a stream whose second piece waits for the gate."""

    protocol_version = "HTTP/1.1"
    gate = threading.Event()
    posts = 0

    def do_GET(self) -> None:
        self.send_response(200)
        streams = self.path == "/stream"
        self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
        if not streams:
            self._end("\n".join(f"{name}: {value}" for name, value in self.headers.items()).encode() + b"\n" * 2_000)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\none\n\n\r\n")
        self.gate.wait(200)
        self.wfile.write(b"5\r\ntwo\n\n\r\n0\r\n\r\n")

    def do_POST(self) -> None:
        type(self).posts += 1
        self.close_connection = True  # as a process that is killed before it answers

    def _end(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Nothing."""


@contextmanager
def run_nginx(nginx: str, main: Path) -> Iterator[None]:
    command = [nginx, "-c", main, "-p", main.parent, "-e", "stderr", "-g", "daemon off; master_process off;"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def proxy(nginx: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A client of nginx in front of two `Upstream` servers."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Upstream) for _number in range(2)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    with run_proxy(nginx, tmp_path_factory.mktemp("nginx"), [server.server_port for server in servers]) as client:
        yield client
    for server in servers:
        server.shutdown()
        server.server_close()


@contextmanager
def run_proxy(nginx: str, folder: Path, ports: list[int]) -> Iterator[httpx2.Client]:
    """A client of nginx in front of the servers at these ports."""
    port = find_free_port("127.0.0.1")
    main = render_nginx(folder, [("127.0.0.1", number) for number in ports], "127.0.0.1", port)
    with run_nginx(nginx, main), httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:

        def answers() -> bool:
            try:
                return client.get("/login").is_success
            except httpx2.TransportError:
                return False

        wait_until(answers, seconds=20)
        yield client


def read_headers(response: httpx2.Response) -> dict[str, str]:
    """The headers that the server behind the proxy got."""
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in response.text.split("\n") if line)}


def test_what_a_client_says_of_itself_is_replaced(proxy: httpx2.Client) -> None:
    got = read_headers(proxy.get("/", headers={**SPOOFED, "Host": "memory.example.org"}))
    assert got["x-forwarded-proto"] == "http"
    assert got["x-forwarded-for"] == "127.0.0.1"
    assert got["host"] == "memory.example.org"
    assert not {"x-forwarded-host", "x-forwarded-port", "forwarded"} & set(got)


@pytest.mark.parametrize("host", ["memory.example.org:8443", "[::1]:8080", "127.0.0.1:18080", "Memory.Example.org"])
def test_the_host_keeps_its_port(proxy: httpx2.Client, host: str) -> None:
    assert read_headers(proxy.get("/", headers={"Host": host}))["host"] == host


@pytest.mark.parametrize(("origin", "status"), [("", 302), ("http://127.0.0.1", 403), ("http://evil.example", 403)])
def test_one_logs_in_through_the_port_that_is_published(
    nginx: str, tmp_path: Path, http_server: HttpServer, origin: str, status: int
) -> None:
    User.objects.create_user("mei", password="correct horse 9")
    with run_proxy(nginx, tmp_path, [int(http_server.url.rpartition(":")[2])]) as browser:
        page = browser.get("/login")
        own = str(browser.base_url).rstrip("/")
        form = {"username": "mei", "password": "correct horse 9", "csrfmiddlewaretoken": page.cookies["csrftoken"]}
        answer = browser.post("/login", data=form, headers={"Origin": origin or own, "Referer": f"{own}/login"})
    assert answer.status_code == status


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_connection_on_which_nothing_comes_is_cut(nginx: str, tmp_path: Path, sent: bytes) -> None:
    port = find_free_port("127.0.0.1")
    main = render_nginx(tmp_path, [("127.0.0.1", 9)], "127.0.0.1", port)
    locations = tmp_path / "locations.conf"
    given = locations.read_text()
    locations.write_text(given.replace("client_header_timeout 30s;", "client_header_timeout 1s;"))
    assert locations.read_text() != given
    with run_nginx(nginx, main):
        wait_until(lambda: is_open(port), seconds=20)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(sent)
            assert connection.recv(1_000) == b""


def is_open(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_a_stream_arrives_piece_by_piece_and_uncompressed(proxy: httpx2.Client) -> None:
    Upstream.gate.clear()
    with proxy.stream("GET", "/stream", headers={"Accept-Encoding": "gzip"}) as response:
        assert "content-encoding" not in response.headers
        pieces = response.iter_bytes()
        assert next(pieces) == b"one\n\n"
        Upstream.gate.set()
        assert next(pieces) == b"two\n\n"


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(proxy: httpx2.Client) -> None:
    connection = http.client.HTTPConnection(proxy.base_url.host, proxy.base_url.port or 0, timeout=10)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(201 * 1024**2))
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Content-Type")) == (413, "application/json")
    limit = {"max_bytes": 200 * 1024**2}
    assert json.loads(answer.read()) == {
        "error": {"code": "too_large", "message": "The file is larger than 200 MiB.", "fields": limit}
    }
    connection.close()


def test_the_proxy_refuses_what_jiyi_would_refuse() -> None:
    limit = re.search(r"client_max_body_size (\d+)k;", (DEPLOY / "nginx" / "locations.conf").read_text())
    assert limit is not None
    assert int(limit[1]) * 1024 == 200 * 1024**2 + FORM_BYTES


def test_a_request_that_changes_something_is_never_sent_twice(proxy: httpx2.Client) -> None:
    Upstream.posts = 0
    assert proxy.post("/", json={}).status_code == 502
    assert Upstream.posts == 1


def make_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "memory.example.org")])
    now = datetime.now(UTC)
    certificate = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    certificate = certificate.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    signed = certificate.sign(key, hashes.SHA256())
    (folder / "fullchain.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "privkey.pem").write_bytes(key.private_bytes(*private))


@pytest.mark.parametrize("site", ["jiyi.conf", "jiyi-tls.conf"])
@pytest.mark.parametrize("upstream", ["upstream.conf", "upstream.compose.conf"])
def test_nginx_accepts_every_file(nginx: str, tmp_path: Path, site: str, upstream: str) -> None:
    version = subprocess.run([nginx, "-v"], capture_output=True, text=True, check=True).stderr
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if "compose" in upstream and numbers < (1, 27, 3):
        # What only the image's nginx knows is left out.
        text = (DEPLOY / "nginx" / upstream).read_text().replace("web:8000 resolve", "127.0.0.1:8000")
    else:
        text = (DEPLOY / "nginx" / upstream).read_text()
    text = text.replace("${NGINX_LOCAL_RESOLVERS}", "127.0.0.11")  # as the image's entry point does
    (tmp_path / "upstream.conf").write_text(text)
    shutil.copy(DEPLOY / "nginx" / "locations.conf", tmp_path)
    make_certificate(tmp_path)
    found = (DEPLOY / "nginx" / site).read_text()
    for there in ("/etc/nginx/jiyi/", "/etc/nginx/certificates/", "/var/log/nginx/"):
        found = found.replace(there, f"{tmp_path}/")
    (tmp_path / "site.conf").write_text(found)
    main = tmp_path / "nginx.conf"
    main.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{ include {tmp_path}/site.conf; }}\n")
    run_tool(nginx, "-t", "-q", "-c", main, "-p", tmp_path, "-e", "stderr")
