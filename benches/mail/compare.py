#!/usr/bin/env python3
"""Compares the texts that nearkin reads of messages with what their authors wrote.

    compare.py NEARKIN [--seed N] [--count N] [--keep FOLDER]

Python's email package makes messages of random structure: plain, HTML, both, with an attachment, in
three transfer encodings and several charsets. Each has some words of its author, and what programs
put around them in 29 languages: quotations above, below and between, signatures, footers of mailing
lists. Beside each message is a text file of its subject and its author's words. `nearkin dups
--threshold 1` must find all these pairs, and nothing else. Exit status 1 if it does not.
"""

import argparse
import email
import email.message
import email.policy
import html
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SAMPLES = HERE / "../../input/src/formats/mail/samples.txt"
FOOTER = "_______________________________________________\nteam mailing list\nteam@lists.example\n"


def samples():
    found = []
    for line in SAMPLES.read_text(encoding="utf-8").split("\n"):
        if line.startswith("= "):
            found.append((line.rsplit(" ", 1)[1], []))
        elif found and not line.startswith("#"):
            found[-1][1].append(line)
    return [(kind, "\n".join(lines).rstrip("\n")) for kind, lines in found]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.samples = samples()

    def words(self, least, most):
        others = ["", "\xe4\xf6\xfc", "\xe9\xe0\xe7", "\xe5\xe6\xf8"]
        letters = "abcdefghijklmnoprstuvz" + self.random.choice(others)
        word = lambda: "".join(self.random.choices(letters, k=self.random.randint(2, 8)))
        return " ".join(word() for _ in range(self.random.randint(least, most)))

    def paragraphs(self, least, most):
        return [self.words(20, 60) for _ in range(self.random.randint(least, most))]

    def above(self, kinds):
        return self.random.choice([text for kind, text in self.samples if kind in kinds])

    def plain(self, own, quoted):
        mark = lambda text: "\n".join("> " + line for line in text.split("\n"))
        marked = lambda text: mark(text) + "\n> > " + self.words(3, 9)
        parts = []
        style = self.random.choice(["top", "bottom", "between", "unmarked", "none"])
        above = self.above(["quote", "marked", "block"])
        if style == "bottom":
            parts += [above + "\n" + marked(quoted)]
        for paragraph in own:
            parts.append(paragraph)
            if style == "between":
                parts.append(marked(self.words(5, 20)))
        if self.random.random() < 0.5:
            parts.append("-- \n" + self.words(3, 9) + "\n" + self.words(3, 9))
        if style == "top":
            parts += [above, marked(quoted)]
        if style == "unmarked":
            parts += [self.above(["quote", "block"]), quoted]
        elif self.random.random() < 0.2:
            parts.append(FOOTER)
        return "\n\n".join(parts) + "\n"

    def html(self, own, quoted):
        lines = lambda text: html.escape(text).replace("\n", "<br>\n")
        shapes = ["<p>{}</p>", "<div>{}</div><div><br></div>"]
        body = "".join(self.random.choice(shapes).format(paragraph) for paragraph in own)
        above = lines(self.above(["quote", "marked"]))
        block = lines(self.above(["block"]))
        deeper = f'<blockquote type="cite"><p>{self.words(5, 9)}</p></blockquote>'
        text = f"<p>{lines(quoted)}</p>{deeper}"
        tail = self.random.choice([
            f'<br><div class="gmail_quote"><div class="gmail_attr">{above}<br></div>'
            f'<blockquote class="gmail_quote" style="margin:0">{text}</blockquote></div>',
            f'<div class="gmail_quote"><div class="gmail_attr">{block}<br></div>{text}</div>',
            f'<div><br><blockquote type="cite"><div>{above}</div>{text}</blockquote></div>',
            f'<div class="moz-cite-prefix">{above}<br></div><blockquote type="cite" '
            f'cite="mid:a@b">{text}</blockquote>'
            f'<pre class="moz-signature">-- \n{self.words(2, 5)}</pre>',
            f'<div><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in">'
            f"<p class=MsoNormal>{block}<o:p></o:p></p></div></div>{text}",
            f'<div id="appendonsend"></div><hr style="width:98%"><div id="divRplyFwdMsg">{block}'
            f"</div>{text}",
            f'<div id="Signature">{self.words(2, 9)}</div>',
            "",
        ])
        head = "<head><style>p { margin: 0 }</style></head>"
        return f"<html>{head}<body>{body}{tail}</body></html>"

    def message(self, number):
        subject, own = self.words(2, 6), self.paragraphs(1, 3)
        quoted = "\n\n".join(self.paragraphs(1, 4))
        message = email.message.EmailMessage(policy=email.policy.SMTP)
        message["Received"] = "from mx by in; Mon, 01 Jan 2024 10:00:00 +0000"
        message["From"], message["To"] = "Ann <ann@example.org>", "Bob <bob@example.org>"
        message["Subject"], message["Message-ID"] = subject, f"<{number}@example.org>"
        cte = self.random.choice(["base64", "quoted-printable", "8bit"])
        body = self.plain(own, quoted)
        charset = self.random.choice(["utf-8", "iso-8859-1", "windows-1252"])
        try:
            body.encode(charset)
        except UnicodeEncodeError:
            charset = "utf-8"
        if self.random.random() < 0.4:
            message.set_content(self.html(own, quoted), subtype="html", cte=cte)
        else:
            message.set_content(body, cte=cte, charset=charset)
            if self.random.random() < 0.4:
                message.add_alternative(self.html(own, quoted), subtype="html")
        if self.random.random() < 0.2:
            message.add_attachment(b"%PDF-", maintype="application", subtype="pdf")
        made = message.as_bytes()
        # As Python reads it: it loses a blank of some long subjects.
        subject = email.message_from_bytes(made, policy=email.policy.default)["Subject"]
        return made, str(subject) + "\n" + "\n".join(own)


def pairs(nearkin, folder, *options):
    command = [nearkin, "dups", folder, "--no-cache", "--json", "--threshold", "1", *options]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    groups = [json.loads(line) for line in ran.stdout.splitlines()]
    return [[pathlib.Path(file["path"]).stem for file in group["files"]]
            for group in groups if isinstance(group.get("files"), list)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nearkin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    maker = Maker(given.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or pathlib.Path(scratch)
        folder.mkdir(exist_ok=True)
        for number in range(given.count):
            message, text = maker.message(number)
            (folder / f"{number}.eml").write_bytes(message)
            (folder / f"{number}.txt").write_text(text, encoding="utf-8")
        found = pairs(given.nearkin, folder)
        kept = pairs(given.nearkin, folder, "--quoted", "keep")
    right = {group[0] for group in found if len(group) == 2 and group[0] == group[1]}
    missed = [str(number) for number in range(given.count) if str(number) not in right]
    wrong = [group for group in found if len(set(group)) > 1]
    print(f"seed {given.seed}: {given.count} messages, {len(right)} have the text of their author, "
          f"{len(kept)} with --quoted keep")
    if missed or wrong:
        print("other texts:", *missed[:20], "together:", wrong[:5], file=sys.stderr)
    return 1 if missed or wrong else 0


sys.exit(main())
