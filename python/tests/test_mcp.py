"""`nearkin mcp` answers the client that PyPI has (`mcp`): an assistant's side of the protocol."""

import asyncio
import json
import os
import shutil
import subprocess

import pytest

import nearkin as nk

mcp = pytest.importorskip("mcp", reason="no mcp (pip install mcp)")
NEARKIN = os.environ.get("NEARKIN_BINARY") or shutil.which("nearkin")
pytestmark = pytest.mark.skipif(NEARKIN is None, reason="no command nearkin (NEARKIN_BINARY names one)")

FOX = "the quick brown fox jumps over the lazy dog and runs away into the dark wood"


@pytest.fixture
def index(tmp_path):
    (tmp_path / "fox.txt").write_text(FOX)
    (tmp_path / "sea.txt").write_text("ships leave the harbour at dawn when the tide allows it")
    subprocess.run([NEARKIN, "add", "ix", "fox.txt", "sea.txt"], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def asked(folder, *options, calls):
    """Starts the server as an assistant does; returns its tools and the answers to calls."""

    async def talk():
        given = mcp.StdioServerParameters(command=NEARKIN, args=["mcp", "ix", *options], cwd=str(folder))
        async with mcp.stdio_client(given) as streams, mcp.ClientSession(*streams) as session:
            hello = await session.initialize()
            tools = (await session.list_tools()).tools
            answers = [await session.call_tool(name, arguments) for name, arguments in calls]
            await session.send_ping()
            return hello, tools, answers

    return asyncio.run(asyncio.wait_for(talk(), 60))


def content(answer):
    """What a tool answered: the structured content, which its text repeats."""
    told = answer.model_dump(mode="json", by_alias=True)
    structured = told["structuredContent"]
    assert json.loads(told["content"][0]["text"]) == structured
    return structured


def test_an_assistant_finds_admits_and_gets(index):
    calls = [
        ("find_similar", {"text": FOX + " again", "limit": 1}),
        ("admit", {"key": "copy", "text": FOX}),
        ("admit", {"key": "new", "text": "nobody wrote this before", "payload": "p"}),
        ("get_document", {"key": "new"}),
        ("get_text", {"key": "fox.txt"}),
    ]
    hello, tools, answers = asked(index, "--texts", calls=calls)
    assert hello.model_dump(by_alias=True)["serverInfo"]["name"] == "nearkin"
    assert [tool.name for tool in tools] == ["find_similar", "get_document", "get_text", "admit"]
    found, rejected, admitted, document, text = map(content, answers)
    assert found["matches"][0]["key"] == "fox.txt"
    assert (rejected["decision"], rejected["duplicates"][0]["key"]) == ("rejected", "fox.txt")
    assert (admitted["decision"], document["payload"], text["text"]) == ("admitted", "p", FOX)
    with nk.Reader(index / "ix") as reader:
        assert "new" in reader and "copy" not in reader


def test_what_is_refused_is_a_result_that_says_why(index):
    calls = [("find_similar", {}), ("get_document", {"key": "none"}), ("admit", {"key": "a"})]
    _, _, answers = asked(index, calls=calls)
    for answer in answers:
        told = answer.model_dump(mode="json", by_alias=True)
        assert told["isError"] and told["content"][0]["text"]


def test_reads_only(index):
    _, tools, _ = asked(index, "--read-only", calls=[])
    assert [tool.name for tool in tools] == ["find_similar", "get_document"]
