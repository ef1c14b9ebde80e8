"""A reader of feeds shows a story once. `feed_reader.py` stands for FreshRSS and the like; the feeds are
parsed by feedparser, and the server is `nearkin serve`."""

import email.utils
import os
import re
import shutil
import subprocess
import time

import pytest

pytest.importorskip("feedparser", reason="no feedparser")
NEARKIN = os.environ.get("NEARKIN_BINARY") or shutil.which("nearkin")
pytestmark = pytest.mark.skipif(NEARKIN is None, reason="no command nearkin (NEARKIN_BINARY names one)")

STORY = (
    "The ferry to the islands was cancelled on Monday after the harbour had frozen over in the night. The company "
    "hopes to sail again on Wednesday, when the ice breaker from the mainland is expected in the afternoon. "
)
RSS = """<rss version="2.0"><channel><title>{name}</title>
<item><title>{title}</title><link>http://{name}/1</link><guid>http://{name}/1</guid>
<description>{story}</description></item>
<item><title>Bread</title><link>http://{name}/2</link><description>{other}</description></item>
</channel></rss>"""
OTHERS = {
    "a.test": "A recipe for bread with rye flour and a little honey, baked for an hour in a hot oven at home",
    "b.test": "How to keep a sourdough alive in summer: feed it twice a day, and put the glass into the shade",
}


@pytest.fixture
def server(tmp_path):
    create = [NEARKIN, "create", "news", "--threshold", "0.4", "--shingles", "words:2"]
    subprocess.run(create, cwd=tmp_path, check=True, capture_output=True)
    serve = [NEARKIN, "serve", "news", "--listen", "127.0.0.1:0", "--access-log", "off"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(serve, cwd=tmp_path, **pipes) as process:
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        yield found[0]
        process.terminate()


def test_a_story_of_two_agencies_is_shown_once(server, tmp_path):
    import feed_reader as recipe

    feeds = []
    for name, marked in [("a.test", STORY), ("b.test", f"(dpa) &lt;b&gt;{STORY}&lt;/b&gt; All rights reserved.")]:
        feed = tmp_path / f"{name}.xml"
        feed.write_text(RSS.format(name=name, title="No ferry", story=marked, other=OTHERS[name]))
        feeds.append(str(feed))
    told = [(entry.link, like) for entry, like in recipe.stories(feeds, server=server)]
    assert told == [
        ("http://a.test/1", None),
        ("http://a.test/2", None),
        ("http://b.test/1", "http://a.test/1"),
        ("http://b.test/2", None),
    ]
    # An hour later the same feeds bring nothing new: an entry is no copy of itself.
    again = [(entry.link, like) for entry, like in recipe.stories(feeds, server=server)]
    assert again == [("http://b.test/1", "http://a.test/1")]


def items(*entries):
    return f'<rss version="2.0"><channel><title>t</title>{"".join(f"<item>{it}</item>" for it in entries)}</channel></rss>'


def test_entries_without_title_link_or_text(server, tmp_path, capsys):
    import feed_reader as recipe

    feed = tmp_path / "feed.xml"
    entries = [
        f"<guid>tag:a.test,1</guid><description>{OTHERS['a.test']}</description>",  # as Mastodon's
        f"<description>{OTHERS['b.test']}</description>",
        "<link>http://a.test/3</link><description>&amp;#8203;</description>",
        f"<guid>{'k' * 5_000}</guid><description>{STORY}</description>",
        f"<title>No ferry</title><link>http://a.test/4</link><description>{STORY}</description>",
    ]
    feed.write_text(items(*entries))
    recipe.main([str(feed)], server=server)
    told, problems = capsys.readouterr()
    assert told == (
        f"{OTHERS['a.test'][:80]}\n    tag:a.test,1\n{OTHERS['b.test'][:80]}\n    \nNo ferry\n    http://a.test/4\n"
    )
    # The others cannot be compared, and do not end the program.
    assert re.search(r"http://a\.test/3: .*empty", problems) and re.search("kkk: .*4096", problems)
    assert len(problems.splitlines()) == 2
    recipe.main([str(feed)], server=server)
    assert capsys.readouterr().out == ""


def test_an_entry_that_outlives_the_memory_of_the_server_is_not_new(server, tmp_path):
    import feed_reader as recipe

    def entry(text, days):
        at = email.utils.formatdate(time.time() - days * 86_400)
        return f"<guid>{days}</guid><pubDate>{at}</pubDate><description>{text}</description>"

    feed = tmp_path / "feed.xml"
    feed.write_text(items(entry(STORY, 29), entry(OTHERS["a.test"], 31)))
    assert [entry.id for entry, _ in recipe.stories([str(feed)], server=server)] == ["29"]


@pytest.mark.parametrize("text", [None, "<html><body>not found</body></html>", '<rss version="2.0"><channel>', ""])
def test_a_feed_that_cannot_be_read_is_said(server, tmp_path, capsys, text):
    import feed_reader as recipe

    feed, good = tmp_path / "feed.xml", tmp_path / "good.xml"
    if text is not None:
        feed.write_text(text)
    good.write_text(items())
    assert list(recipe.stories([str(feed), str(good)], server=server)) == []
    problems = capsys.readouterr().err
    assert problems.startswith(f"{feed}: no feed: ") and len(problems.splitlines()) == 1
