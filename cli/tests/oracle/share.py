"""Makes a share of many files with versions, copies and a backup, has `nearkin` remove the copies,
and looks at what is left, without any code of Nearkin.

    share.py NEARKIN [FILES [SEED]]

After `apply` every content is still there, every live file of both departments is in its place with
its time and mode, and the disk has as many bytes more as `dups` promised. After `--undo` all files
are as before, down to their inodes.
"""

import hashlib
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile

nearkin, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
seed = int(sys.argv[3]) if len(sys.argv) > 3 else secrets.randbelow(1 << 32)
print("seed", seed)
rng = random.Random(seed)
top = tempfile.mkdtemp()
share = os.path.join(top, "share")
DAY = 86_400 * 10**9
START = 1_500_000_000 * 10**9
WORDS = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(9_000)]
ODD = ["\u00fc", "two  blanks", "it's", "-rf", "new\nline", "100%", "\u65e5\u672c", "a\tb", "\u202etxt"]
live, time = [], START


def write(path, content, modified, mode=0o644):
    path = os.path.join(share, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        if isinstance(content, int):  # a hole, and some data
            file.seek(content)
            file.write(b"data %d" % content)
        else:
            file.write(content)
    os.chmod(path, mode)
    os.utime(path, ns=(modified, modified))


def read(path):
    with open(os.path.join(share, path), "rb") as file:
        return file.read()


def modified(path):
    return os.stat(os.path.join(share, path)).st_mtime_ns


def copy(path, to, newer=0):
    """A copy with the time of the file, or one made later."""
    if not os.path.lexists(os.path.join(share, to)):
        write(to, read(path), modified(path) + newer)


def edited(text):
    words = text.split()
    for _ in range(rng.randint(1, 3)):
        words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words).encode()


def fill():
    """Live files of two departments, with a history of backups and copies."""
    global time
    number = 0
    backup = 2019
    while number < count:
        number += 1
        time += rng.randrange(DAY // 10)
        department = rng.choice(["HR", "Sales"])
        place = f"{department}/team {rng.randrange(12)}/{rng.choice(['plans', 'letters', 'figures'])}"
        name = f"{rng.choice(WORDS)} {number}"
        if rng.random() < 0.02:
            name += " " + rng.choice(ODD)
        kind = rng.random()
        if kind < 0.6:
            content = " ".join(rng.choices(WORDS, k=rng.randint(60, 400))).encode()
            path = f"{place}/{name}.txt"
        elif kind < 0.95:
            content, path = rng.randbytes(rng.choice([100, 4_096, 20_000, 70_000])), f"{place}/{name}.jpg"
        else:
            content, path = (1 << 20) + number * 97, f"{place}/{name}.img"
        write(path, content, time, rng.choice([0o644, 0o644, 0o640, 0o600]))
        live.append(path)
        while kind < 0.6 and rng.random() < 0.15 and number < count:  # the next version beside it
            number += 1
            time += rng.randrange(DAY)
            content = edited(content.decode())
            path = f"{place}/{name} v{number}.txt"
            write(path, content, time)
            live.append(path)
        for to, newer, often in [
            (f"Users/{rng.choice(WORDS[:9])}/Desktop/{name}{path[-4:]}", DAY, 0.15),
            (f"{place}/{name} (1){path[-4:]}", 0, 0.05),
            (f"{place}/Copy of {name}{path[-4:]}", DAY, 0.05),
            (f"Inbox/2023/{number % 100}/mail/{name}{path[-4:]}", 0, 0.1),
        ]:
            if rng.random() < often:
                copy(path, to, newer)
                number += 1
        if rng.random() < 0.01:
            os.link(os.path.join(share, path), os.path.join(share, path + ".link"))
        if rng.random() < 0.01:
            write(f"{place}/empty {number}", b"", time)
        if backup < 2023 and number > count * (backup - 2018) // 12:
            number += back_up(f"Backup {backup}")
            backup += 1
    write("HR/only here.txt", b"no copy of this", time)


def back_up(name):
    """A part of the live files as they are now. Later some of them are edited in place."""
    some = rng.sample(live, len(live) // 3)
    for path in some:
        copy(path, f"{name}/{path}")
    for path in rng.sample(some, len(some) // 10):
        if path.endswith(".txt"):
            write_again(path)
    return len(some)


def write_again(path):
    content = edited(read(path).decode())
    old = os.path.join(share, path)
    if os.stat(old).st_nlink == 1:
        os.remove(old)
        write(path, content, time)


def files(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if not os.path.islink(path):
                yield path


def state():
    """Every file with all that may not change."""
    found = {}
    for path in files(share):
        stat = os.stat(path)
        digest = hashlib.sha256(read(path)).hexdigest()
        found[path] = digest, stat.st_ino, stat.st_mtime_ns, stat.st_mode, stat.st_nlink
    return found


def taken(folder):
    """What the files take on the disk; a file with several names counts once."""
    return sum({(s.st_dev, s.st_ino): s.st_blocks * 512 for s in map(os.stat, files(folder))}.values())


def ran(*arguments):
    environment = dict(os.environ, XDG_DATA_HOME=top + "/data", XDG_CACHE_HOME=top + "/cache")
    done = subprocess.run([nearkin, *arguments], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def contents(found):
    return {digest for digest, *_ in found.values()}


def checked(before, promised):
    after = state()
    assert contents(after) == contents(before), "a content is lost"
    for path in live:
        path = os.path.join(share, path)
        assert after.get(path, [])[:4] == before[path][:4], f"{path} is not in its place"
    assert all(found[:4] == before[path][:4] for path, found in after.items()), "a file has changed"
    print(f"{len(before)} files, {len(before) - len(after)} gone, {promised} bytes promised")


try:
    fill()
    plan = os.path.join(top, "plan")
    before, taken_before = state(), taken(share)
    promised = ran("dups", share, "--plan", plan, "--json")["exact_bytes_freed"]
    done = ran("apply", plan, "--json")
    checked(before, promised)
    assert done["bytes_trashed"] == promised == taken_before - taken(share)
    assert taken(top + "/data/Trash/files") == promised
    done = ran("apply", plan, "--undo", "--json")
    assert state() == before, "undone, and not as before"
    assert not list(files(top + "/data/Trash")), "something is left in the trash"
    again = ran("dups", share, "--plan", plan + " 2", "--json")["exact_bytes_freed"]
    done = ran("apply", plan + " 2", "--delete", "--json")
    checked(before, promised)
    assert again == promised == done["bytes_freed"] == taken_before - taken(share)
    totals = ran("dups", share, "--exact", "--json")
    assert totals["exact_groups"] == 0, totals
    print("passed")
finally:
    shutil.rmtree(top)
