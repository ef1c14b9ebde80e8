"""Common shingles: learned, given, kept."""

import pickle
import random

import pytest

import nearkin as nk

NOTICE = "sent by the weather service of the county, all rights reserved"


def texts():
    words = random.Random(3)
    made = [" ".join(f"w{words.randrange(2_000)}" for _ in range(8)) for _ in range(60)]
    return [f"{text}. {NOTICE}" for text in made]


def test_a_list_is_learned_in_any_order_and_given_in_any_form():
    common = nk.learn_common(texts(), 0.05)
    assert common.startswith("nearkin-common-1 ")
    shuffled = [None, "", *reversed(texts()), *texts()]
    for threads in (1, 4):
        assert nk.learn_common(iter(shuffled), 0.05, threads=threads) == common
    params = nk.Params(common=common)
    assert params == nk.Params(common=common.encode()) == nk.Params(common=params.common)
    assert params.common == sorted(int(h, 16) for h in common.split()[2:])
    assert f"common=<{len(params.common)} shingles>" in repr(params)
    assert nk.Params.from_json(params.to_json()) == params == pickle.loads(pickle.dumps(params))
    assert nk.Params().common == []
    assert nk.learn_common(texts()[:9], 0.05) is None


def test_common_shingles_do_not_count(tmp_path):
    plain = nk.Params(0.5, shingles="words:2")
    params = nk.Params(0.5, shingles="words:2", common=nk.learn_common(texts(), 0.05, plain))
    for asked, similar in ((plain, True), (params, False)):
        a, b = nk.Sketcher(asked).texts(texts()[:2])
        assert (a.similarity(b) > 0.3) == similar
    with nk.Index(tmp_path / "i", params) as ix:
        ix.add(["a", "b"], texts()[:2])
        assert ix.query(texts()[0]).keys == ["a"]
        # A text of nothing else is compared by all its shingles.
        ix.insert("notice", NOTICE)
        assert ix.query(NOTICE).keys == ["notice"]
    with nk.Index(tmp_path / "i") as ix:
        assert ix.params == params
    for exact in (False, True):
        assert len(nk.dedup(texts(), params=plain, threshold=0.3, exact=exact, guard="none")) < 5
        assert nk.dedup(texts(), params=params, threshold=0.3, exact=exact) == texts()


def test_a_list_for_other_settings_and_a_wrong_one_are_refused():
    common = nk.learn_common(texts(), 0.05)
    with pytest.raises(nk.InvalidError, match="made for other shingles"):
        nk.Params(shingles="words:2", common=common)
    with pytest.raises(nk.InvalidError, match="nearkin-common-1"):
        nk.Params(common="the of")
    with pytest.raises(nk.InvalidError, match="at least one hash"):
        nk.Params(common=[])
    with pytest.raises(ValueError, match="UTF-8"):
        nk.Params(common=b"\xff")
    with pytest.raises(nk.InvalidError, match="above 0"):
        nk.learn_common(texts(), 0)
    with pytest.raises(TypeError, match="not one str"):
        nk.learn_common("text", 0.1)
    with pytest.raises(nk.InvalidError, match="items"):
        nk.learn_common(texts(), 0.1, nk.Params(shingles="items"))
