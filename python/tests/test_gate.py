"""The gate for commits: by itself, by pre-commit, and by the workflow for GitHub Actions.

The workflow's own steps are run by bash: there is no runner of Actions here."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
GATE = ROOT / "python" / "recipes" / "copies_gate.py"
NEARKIN = os.environ.get("NEARKIN_BINARY") or shutil.which("nearkin")
pytestmark = [
    pytest.mark.skipif(NEARKIN is None, reason="no command nearkin (NEARKIN_BINARY names one)"),
    pytest.mark.skipif(shutil.which("git") is None, reason="no git"),
    pytest.mark.skipif(not GATE.exists(), reason="copies_gate.py is not here"),
]
CODE = "".join(f"def step_{n}(rows):\n    return [row * {n} + 1 for row in rows if row]\n\n" for n in range(20))


class Repository:
    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin" / "nearkin").symlink_to(Path(NEARKIN).resolve())
        path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.env = {**os.environ, "PATH": path, "PRE_COMMIT_HOME": str(folder / "cache")}
        self.env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self.work = folder / "work"
        self.work.mkdir()
        self.run("git", "init", "--quiet")
        self.write("a.py", CODE)
        self.write("b.py", "print('a program of its own')\n" * 9)
        self.commit()

    def run(self, *command, status=0, cwd=None):
        done = subprocess.run(
            command, cwd=cwd or self.work, env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def gate(self, *arguments, status=0):
        return self.run(sys.executable, str(GATE), *arguments, status=status)

    def write(self, name, text):
        (self.work / name).parent.mkdir(exist_ok=True)
        (self.work / name).write_text(text)
        self.run("git", "add", name)

    def commit(self, status=0, cwd=None):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return self.run("git", *who, "commit", "--quiet", "-m", "x", status=status, cwd=cwd)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_new_copies_fail_and_accepted_ones_pass(repository):
    # A table is one file, not one document a row.
    repository.write("rows.csv", "a,b\n1,2\n3,4\n")
    assert repository.gate() == ""
    repository.write("lib/c.py", CODE.replace("step_3", "step_three"))
    (repository.work / "untracked.py").write_text(CODE)
    said = repository.gate("--sarif", "found.sarif", status=1)
    assert said.count("\n") == 1 and said.startswith("lib/c.py: 9") and said.endswith("% the same as a.py\n")
    [result] = json.loads((repository.work / "found.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (place, result["level"]) == ("lib/c.py", "warning")
    # Of other files, or below another threshold, it is none.
    assert repository.gate("lib", "b.py") == "" == repository.gate("--at-least", "1")
    repository.gate("--accept")
    assert repository.gate("--sarif", "found.sarif") == ""
    assert json.loads((repository.work / "found.sarif").read_text())["runs"][0]["results"] == []
    repository.write("d.py", CODE)
    lines = repository.gate(status=1).splitlines()
    assert lines[0] == "d.py: 100% the same as a.py" and lines[1].endswith("the same as d.py") and len(lines) == 2


def test_files_that_are_no_text_are_left_out(repository):
    (repository.work / "x.bin").write_bytes(bytes(range(256)) * 9)
    repository.run("git", "add", "x.bin")
    assert repository.gate() == ""


def test_pre_commit_stops_a_commit_with_a_copy(repository):
    pytest.importorskip("pre_commit", reason="no pre-commit (pip install pre-commit)")
    hooks = repository.folder / "hooks"
    (hooks / "python" / "recipes").mkdir(parents=True)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    shutil.copy(GATE, hooks / "python" / "recipes")
    repository.run("git", "init", "--quiet", cwd=hooks)
    repository.run("git", "add", ".", cwd=hooks)
    repository.commit(cwd=hooks)
    revision = repository.run("git", "rev-parse", "HEAD", cwd=hooks).strip()
    repository.write(
        ".pre-commit-config.yaml",
        f"repos:\n- repo: {hooks.as_uri()}\n  rev: {revision}\n  hooks:\n  - id: nearkin-copies\n    args: ['*.py']\n",
    )
    pre_commit = [sys.executable, "-m", "pre_commit"]
    repository.run(*pre_commit, "install")
    repository.commit()
    repository.write("c.py", CODE + "# a copy\n")
    repository.commit(status=1)
    repository.gate("--accept", "*.py")
    repository.run("git", "add", ".nearkin-copies.json")
    repository.commit()


def test_the_steps_of_the_workflow_fail_on_a_copy(repository):
    yaml = pytest.importorskip("yaml", reason="no PyYAML")
    workflow = yaml.safe_load(GATE.with_suffix(".yml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["copies"]["steps"] if "run" in step]
    assert steps[0] == "pip install nearkin-cli"
    (repository.work / "tools").mkdir()
    shutil.copy(GATE, repository.work / "tools")
    repository.run("bash", "-e", "-c", "\n".join(steps[1:]))
    repository.write("c.py", CODE)
    repository.run("bash", "-e", "-c", "\n".join(steps[1:]), status=1)
    assert "c.py" in (repository.work / "copies.sarif").read_text()
