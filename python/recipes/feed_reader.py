"""A feed reader that shows a story once, however many agencies tell it. It asks `nearkin serve` over HTTP.

    nearkin create news.nearkin --threshold 0.4 --shingles words:2
    nearkin serve news.nearkin --ttl 7d &
    python feed_reader.py https://example.org/feed.xml https://example.com/rss

FreshRSS, Miniflux and others can do the same from an extension or a webhook: one POST for each entry.
"""

import html
import json
import re
import sys
import urllib.request

import feedparser

SERVER = "http://127.0.0.1:7878"


def admit(key, text, title, server=SERVER, reject=0.5):
    """Stores an entry unless its story is stored; returns the answer of the server."""
    body = {"key": key, "text": text, "payload": title, "reject": reject}
    request = urllib.request.Request(
        server + "/v1/admit", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def text_of(entry):
    """Title and content of an entry, without marks."""
    parts = [content.value for content in entry.get("content", [])] or [entry.get("summary", "")]
    return html.unescape(re.sub(r"<[^>]*>", " ", " ".join([entry.get("title", ""), *parts])))


def stories(feeds, **how):
    """The entries of feeds that tell something new, each with the story that it repeats, or None."""
    for feed in feeds:
        for entry in feedparser.parse(feed).entries:
            text = text_of(entry)
            if text.strip():
                told = admit(entry.get("id") or entry.link, text, entry.get("title", ""), **how)
                if told["decision"] != "unchanged":
                    rejected = told["decision"] == "rejected"
                    yield entry, told["duplicates"][0]["key"] if rejected else None


if __name__ == "__main__":
    for entry, like in stories(sys.argv[1:]):
        print(f"    also: {entry.link} tells {like}" if like else f"{entry.title}\n    {entry.link}")
