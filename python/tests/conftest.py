"""What tests share."""

import random
import signal

import pytest

import nearkin as nk

# A shell starts what runs in the background with SIGINT ignored: tests that interrupt a search would
# wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

WORDS = [f"word{number}" for number in range(2_000)]


def made_text(seed: int, words: int = 40) -> str:
    """A text that depends on the seed only."""
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(words))


def near_copy(text: str, seed: int = 0) -> str:
    """The same text with one word changed."""
    words = text.split()
    words[random.Random(seed).randrange(len(words))] = "altered"
    return " ".join(words)


@pytest.fixture
def params() -> nk.Params:
    return nk.Params(threshold=0.6, shingles="words:2")


@pytest.fixture
def index(tmp_path, params):
    with nk.Index(tmp_path / "index", params, durability="os") as ix:
        yield ix
