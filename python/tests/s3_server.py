"""An S3-like server in this process, for tests of object stores."""

import secrets
import threading
from contextlib import contextmanager

import pytest


@contextmanager
def s3_server(monkeypatch):
    """The address of a bucket, and the options of its file system. The server answers one request
    after the other, so its conditional put is atomic."""
    pytest.importorskip("s3fs", reason="no s3fs")
    apps = pytest.importorskip("moto.moto_server.werkzeug_app", reason="no moto (pip install 'moto[server]')")
    import fsspec
    from werkzeug.serving import make_server

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    app = apps.DomainDispatcherApplication(apps.create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    options = {
        "key": "test",
        "secret": "test",
        "client_kwargs": {"endpoint_url": endpoint},
    }
    try:
        # The servers of one process share their content.
        bucket = f"bucket-{server.server_port}-{secrets.token_hex(4)}"
        fsspec.filesystem("s3", **options).mkdir(bucket)
        yield f"s3://{bucket}", options
    finally:
        server.shutdown()
        thread.join()
