"""Limits of a container that sind made: Docker takes CPUs only in the form in which they were first set (moby, daemon/update)."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

from sindplan.engine.docker_sdk import connect

GIB = 1024**3
REFUSED = "Conflicting options: CPU Period cannot be updated as NanoCPUs has already been set"


class _Handler(BaseHTTPRequestHandler):
    """Answers as an engine whose only container was made with `--cpus`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer(200, {"ApiVersion": "1.51", "Version": "28.5.2"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self._answer(*((409, {"message": REFUSED}) if "CpuPeriod" in body else (200, {"Warnings": []})))

    def _answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def address_string(self):
        return "socket"

    def log_message(self, *_):
        """Say nothing."""


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def test_cpus_are_set_in_the_form_that_the_container_has(tmp_path):
    with _Server(str(tmp_path / "s"), _Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        engine = connect(f"unix://{tmp_path}/s")
        engine.update_limits("c", 2, GIB)
        engine.update_limits("c", None, GIB)
        engine.close()
        server.shutdown()
        thread.join()

    memory = {"Memory": GIB, "MemorySwap": GIB}
    assert server.asked == [
        {"CpuPeriod": 100_000, "CpuQuota": 200_000, **memory},
        {"NanoCpus": 2_000_000_000, **memory},
        memory,
    ]
