"""Scrapy crawls a site of this machine, in a process of its own, and drops the copies."""

import http.server
import json
import subprocess
import sys
import threading

import pytest
from conftest import RECIPES

import nearkin as nk

pytest.importorskip("scrapy", reason="no scrapy (pip install scrapy)")

STORY = "The ferry to the islands was cancelled on Monday after the harbour had frozen over in the night. "
PAGES = {
    "/": '<a href="/story">a</a> <a href="/mirror">b</a> <a href="/bread">c</a>',
    "/story": f"<p>{STORY * 3}</p>",
    "/mirror": f"<p>{STORY.upper() * 3}</p>",
    "/bread": "<p>A recipe for bread with rye flour and a little honey, baked for an hour in a hot oven</p>",
}
SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Site(scrapy.Spider):
    name = "site"
    start_urls = [sys.argv[1]]

    def parse(self, response):
        text = " ".join(response.css("p::text").getall())
        if text:
            yield {"url": response.url, "text": text}
        yield from response.follow_all(css="a")

process = CrawlerProcess({
    "ITEM_PIPELINES": {"scrapy_copies.NearCopies": 300},
    "NEARKIN_INDEX": sys.argv[2],
    "FEEDS": {sys.argv[3]: {"format": "json"}},
    "CONCURRENT_REQUESTS": 1,
    "DOWNLOAD_DELAY": 0,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
})
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
told = {"copies": "nearkin/copies", "kept": "item_scraped_count"}
print(json.dumps({name: crawler.stats.get_value(key) for name, key in told.items()}))
"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path in PAGES
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGES.get(self.path, "").encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_scrapy_drops_mirrors_in_this_run_and_the_next(site, tmp_path):
    (tmp_path / "crawl.py").write_text(SPIDER)

    def crawled(out):
        command = [sys.executable, "crawl.py", site + "/", "crawled", out]
        env = {"PYTHONPATH": str(RECIPES), "PATH": ""}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        items = json.loads((tmp_path / out).read_text() or "[]")
        return told, sorted(item["url"].removeprefix(site) for item in items), done.stderr

    told, urls, said = crawled("first.json")
    assert told == {"copies": 1, "kept": 2}, said
    assert len({"/story", "/mirror"} & set(urls)) == 1 and "/bread" in urls
    assert "is a near-copy of" in said
    # Pages that are known by their address stay: they are no copies of themselves.
    told, urls, said = crawled("second.json")
    assert told == {"copies": 1, "kept": 2}, said
    with nk.Reader(tmp_path / "crawled") as reader:
        assert len(reader) == 2
