"""A feed reader that shows a story once, however many agencies tell it. It asks `nearkin serve` over HTTP.

    nearkin create news.nearkin --threshold 0.4 --shingles words:2
    nearkin serve news.nearkin --ttl 30d &
    python feed_reader.py https://example.org/feed.xml https://example.com/rss

Entries older than the server remembers are passed over: they would be new to it again. An entry without a
date is shown again when it has expired.
FreshRSS, Miniflux and others can do the same from an extension or a webhook: one POST for each entry.
"""

import calendar
import html
import json
import re
import sys
import time
import urllib.error
import urllib.request

import feedparser

SERVER = "http://127.0.0.1:7878"
TTL = 30 * 24 * 3600  # seconds, at most those of `--ttl`


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
    return html.unescape(re.sub(r"<[^>]*>", " ", " ".join([entry.get("title", ""), *parts]))).strip()


def stories(feeds, **how):
    """The entries of feeds that tell something new, each with the story that it repeats, or None."""
    for feed in feeds:
        read = feedparser.parse(feed)
        if not read.get("version") or read.bozo and not read.entries:
            print(f"{feed}: no feed: {read.get('bozo_exception') or read.get('status')}", file=sys.stderr)
        for entry in read.entries:
            text, published = text_of(entry), entry.get("published_parsed") or entry.get("updated_parsed")
            if published and calendar.timegm(published) < time.time() - TTL:
                continue
            key = entry.get("id") or entry.get("link") or text[:200] or "an entry without text"
            try:
                told = admit(key, text, entry.get("title", ""), **how)
            except urllib.error.HTTPError as error:
                if error.code not in {400, 413}:
                    raise
                # Only this entry: nothing to compare, a key that is too long, too large.
                print(f"{feed}: {key}: {error.read().decode()}", file=sys.stderr)
                continue
            if told["decision"] != "unchanged":
                yield entry, told["duplicates"][0]["key"] if told["decision"] == "rejected" else None


def main(feeds, **how):
    for entry, like in stories(feeds, **how):
        title, link = entry.get("title") or text_of(entry)[:80], entry.get("link", "")
        print(f"    also: {link or title} tells {like}" if like else f"{title}\n    {link}")


if __name__ == "__main__":
    main(sys.argv[1:])
