"""The stubs say what each name is, so that editors show it: the first paragraph of the docstring of the
extension. `NEARKIN_WRITE_STUBS=1` writes them."""

import ast
import os
import textwrap
from pathlib import Path

import nearkin as nk
import pytest
from nearkin import _nearkin, shards

ROOT = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
STUBS = [("_nearkin.pyi", _nearkin), ("shards.pyi", shards)]


def public(body, owner):
    """The classes and functions of a stub that have a name for users, each with what it stands for."""
    seen = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            of = getattr(owner, node.name, None)
            # Of overloads, the first.
            if node.name not in seen:
                seen.add(node.name)
                yield node, of
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, of)


def docstring(of, indent):
    """The lines of a docstring."""
    paragraph = " ".join((getattr(of, "__doc__", None) or "").strip().split("\n\n")[0].split())
    lines = textwrap.wrap(f'"""{paragraph}"""', 106 - indent) if paragraph else []
    return [" " * indent + line for line in lines]


def described(stub, module):
    """The stub with the docstrings."""
    lines = stub.splitlines()
    edits = []
    for node, of in public(ast.parse(stub).body, module):
        first, has = node.body[0], ast.get_docstring(node) is not None
        begin = min(part.lineno for part in [first, *getattr(first, "decorator_list", [])]) - 1
        told = docstring(of, node.col_offset + 4)
        before = lines[begin][: first.col_offset].rstrip()
        if before:  # `def name() -> None: ...`, all on one line
            edits.append((begin, begin + 1, [before, *told] if told else [f"{before} ..."]))
        else:
            edits.append((begin, first.end_lineno if has else begin, told))
    for begin, end, told in sorted(edits, reverse=True, key=lambda edit: edit[:2]):
        lines[begin:end] = told
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("name", "module"), STUBS)
def test_the_stubs_say_what_each_name_is(name, module):
    stub = (Path(nk.__file__).parent / name).read_text()
    told = described(stub, module)
    if os.environ.get("NEARKIN_WRITE_STUBS"):
        (ROOT / "python" / "nearkin" / name).write_text(told)
    assert stub == told, f"{name} is not what NEARKIN_WRITE_STUBS=1 writes"
    assert described(told, module) == told
    silent = [node.name for node, _ in public(ast.parse(told).body, module) if not ast.get_docstring(node)]
    assert silent == []
