"""The post-consume script of paperless-ngx. A small server stands for its API (a document, its notes), and the
environment for that of the consumer; paperless-ngx itself needs Redis and is not run here."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading

import pytest
from conftest import RECIPES

LETTER = (
    "Dear Mrs Miller, the town council has decided that the old bridge over the river will be closed from the first of "
    "March until the end of June. Residents reach the market by the new road. Yours sincerely, the mayor of the town. "
)
DOCUMENTS = {
    "1": {"title": "Bridge", "content": LETTER * 2},
    "2": {"title": "Bread", "content": "A recipe for bread with rye flour and a little honey, baked for an hour " * 3},
    # Scanned again: single letters are recognised wrongly.
    "3": {"title": "Scan 3", "content": (LETTER * 2).replace("March", "Marcb").replace("river", "rivcr", 1)},
    "4": {"title": "Photo", "content": ""},
}


class Paperless(http.server.BaseHTTPRequestHandler):
    notes: list = []

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self):
        found = re.fullmatch(r"/api/documents/(\d+)/", self.path)
        known = self.headers["Authorization"] == "Token secret"
        self.answer(200 if found and known else 403, DOCUMENTS[found[1]] | {"id": int(found[1])})

    def do_POST(self):
        found = re.fullmatch(r"/api/documents/(\d+)/notes/", self.path)
        note = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["note"]
        self.notes.append((found[1], note))
        self.answer(200, [])

    def log_message(self, *_):
        pass


@pytest.fixture
def consumed(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Paperless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {**os.environ, "NEARKIN_INDEX": str(tmp_path / "papers"), "NEARKIN_PAPERLESS_TOKEN": "secret"}
    env["NEARKIN_PAPERLESS_URL"] = f"http://127.0.0.1:{server.server_port}"

    def consume(number, **others):
        command = [sys.executable, str(RECIPES / "paperless_similar.py")]
        done = subprocess.run(command, env={**env, "DOCUMENT_ID": number, **others}, capture_output=True, text=True)
        return done.returncode, done.stderr

    Paperless.notes.clear()
    yield consume
    server.shutdown()


def test_a_letter_that_was_scanned_twice_gets_a_note(consumed):
    for number in DOCUMENTS:
        assert consumed(number) == (0, ""), number
    [(number, note)] = Paperless.notes
    assert number == "3" and re.fullmatch(r"similar to #1 Bridge \(\d\d%\)", note), note
    # Consumed again, it is not similar to itself.
    assert consumed("2") == (0, "") and len(Paperless.notes) == 1


def test_an_error_fails_the_script(consumed):
    status, said = consumed("1", NEARKIN_PAPERLESS_TOKEN="wrong")
    assert status != 0 and "403" in said
