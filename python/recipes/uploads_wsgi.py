"""An upload service whose workers are processes: a text is accepted unless a near-copy is stored.

    NEARKIN_INDEX=uploads.nearkin gunicorn --workers 4 --preload uploads_wsgi:app
    curl -X PUT localhost:8000/1 --data 'The ferry was cancelled after the harbour froze'

Of equal texts that reach several workers at one moment, exactly one is accepted. Workers may be
added, killed and replaced at any time. The same holds for uWSGI, Celery and ``multiprocessing``.
"""

import functools
import json
import os

import nearkin as nk

PARAMS = nk.Params(threshold=0.8)
STATUS = {"admitted": "201 Created", "rejected": "409 Conflict", "empty": "422 Unprocessable Content"}


@functools.cache
def index_of(process):
    """The index of one process: it is opened after the fork, since no handle survives one."""
    return nk.Index(os.environ["NEARKIN_INDEX"], PARAMS, shared=True, lock_wait=10)


def app(environ, start_response):
    index = index_of(os.getpid())
    key = environ["PATH_INFO"].lstrip("/")
    if environ["REQUEST_METHOD"] == "PUT":
        length = int(environ.get("CONTENT_LENGTH") or 0)
        text = environ["wsgi.input"].read(length).decode()
        admitted = index.admit([key], [text])
        [decision], [like] = admitted["decision"], admitted["of_key"]
        status = STATUS.get(decision, "200 OK")  # replaced, unchanged
        answer = {"decision": decision, "like": like}
    else:
        index.refresh()  # what other workers have accepted until now
        status = "200 OK" if key in index else "404 Not Found"
        answer = {"documents": len(index)}
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps(answer).encode()]
