#!/usr/bin/env python3
"""paperless-ngx: after each document, a note "similar to ..." on it, if there is a document like it.

    PAPERLESS_POST_CONSUME_SCRIPT=/usr/src/paperless/scripts/paperless_similar.py
    NEARKIN_INDEX=/usr/src/paperless/data/papers.nearkin
    NEARKIN_PAPERLESS_TOKEN=...     # of a user who may read documents and add notes
    NEARKIN_PAPERLESS_URL=http://localhost:8000

paperless-ngx itself refuses equal files; this sees a letter that was scanned twice. It reads the text that
paperless-ngx recognised, and changes nothing but the note. An error fails the script, which paperless-ngx
logs; the document stays.
"""

import json
import os
import urllib.request

import nearkin as nk

SIMILAR = 0.6


def ask(path, body=None):
    """A request to the API of paperless-ngx."""
    headers = {"Authorization": "Token " + os.environ["NEARKIN_PAPERLESS_TOKEN"]}
    headers["Content-Type"] = "application/json"
    url = os.environ.get("NEARKIN_PAPERLESS_URL", "http://localhost:8000") + path
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
        return json.load(answer)


def main(number):
    document = ask(f"/api/documents/{number}/")
    # The preset for scans: it forgives single letters that were recognised wrongly.
    params = nk.Params.preset("archive")
    with nk.Index(os.environ["NEARKIN_INDEX"], params, shared=True) as index:
        found = index.query(document["content"], threshold=SIMILAR, limit=5) if document["content"].strip() else []
        index.add([number], [document["content"]], payloads=[document["title"].encode()])
    others = [match for match in found if match.key != number]
    if others:
        names = [f"#{match.key} {match.payload.decode()} ({match.similarity:.0%})" for match in others]
        ask(f"/api/documents/{number}/notes/", {"note": "similar to " + ", ".join(names)})


if __name__ == "__main__":
    main(os.environ["DOCUMENT_ID"])
