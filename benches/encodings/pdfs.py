"""PDF files for `compare.py`: two makers, damaged in four ways, with what pdftotext reads of each.

Needs fpdf2, reportlab (both from PyPI), pdftotext with its CMaps (poppler-utils, poppler-data),
fc-match, and a TrueType font of each script.
"""

import io
import shutil
import subprocess

DAMAGE = ["clean", "cut", "before", "nuls", "startxref"]
FONT_LANGUAGES = {"Greek": "el", "Russian": "ru", "Japanese": "ja", "Korean": "ko",
                  "Chinese (simplified)": "zh-cn", "Chinese (traditional)": "zh-tw"}
# Fonts of the reader: the file has their names and the name of a predefined CMap only.
PREDEFINED = {"Japanese": "HeiseiMin-W3", "Korean": "HYSMyeongJo-Medium",
              "Chinese (simplified)": "STSong-Light", "Chinese (traditional)": "MSung-Light"}
LINES_OF_A_PAGE = 60
BEFORE = [b"\n", b"\xef\xbb\xbf", b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"]


def missing():
    """What is needed and not here."""
    absent = [name for name in ("pdftotext", "fc-match") if shutil.which(name) is None]
    for name in ("fpdf", "reportlab"):
        try:
            __import__(name)
        except ImportError:
            absent.append(name)
    return absent


def font_of(language):
    wanted = f":lang={FONT_LANGUAGES.get(language, 'en')}:fontformat=TrueType"
    return subprocess.run(["fc-match", "-f", "%{file}", wanted], capture_output=True, text=True,
                          check=True).stdout


def by_fpdf(text, language):
    """A subset of a font is embedded, with a map to Unicode."""
    import fpdf
    pdf = fpdf.FPDF()
    pdf.add_font("font", fname=font_of(language))
    pdf.set_font("font", size=9)
    for at, line in enumerate(text.splitlines()):
        if at % LINES_OF_A_PAGE == 0:
            pdf.add_page()
        pdf.text(12, 12 + 4.5 * (at % LINES_OF_A_PAGE), line)
    return bytes(pdf.output())


def by_reportlab(text, language):
    """A font of the reader: Helvetica for western languages, a predefined CMap for Asian ones."""
    from reportlab.pdfbase import cidfonts, pdfmetrics, ttfonts
    from reportlab.pdfgen import canvas
    name = "Helvetica"
    if language in PREDEFINED:
        name = PREDEFINED[language]
        pdfmetrics.registerFont(cidfonts.UnicodeCIDFont(name))
    elif language in ("Polish", "Turkish", "Russian", "Greek"):
        name = language
        pdfmetrics.registerFont(ttfonts.TTFont(name, font_of(language)))
    file = io.BytesIO()
    pdf = canvas.Canvas(file, pageCompression=1)
    for at, line in enumerate(text.splitlines()):
        if at % LINES_OF_A_PAGE == 0:
            if at > 0:
                pdf.showPage()
            pdf.setFont(name, 9)
        pdf.drawString(40, 800 - 12.5 * (at % LINES_OF_A_PAGE), line)
    pdf.save()
    return file.getvalue()


MAKERS = {"fpdf2": by_fpdf, "reportlab": by_reportlab}


def damaged(data, damage, chance):
    if damage == "cut":
        return data[: -chance.randrange(2, len(data) // 3)]
    if damage == "before":
        return chance.choice(BEFORE) + data
    if damage == "nuls":
        return data + bytes(chance.choice([1, 512, 4_096]))
    if damage == "startxref":
        return data[: data.rindex(b"startxref")] + b"%%EOF\n"
    return data


def make(folder, texts, chance):
    """Returns the text by pdftotext for each path, and its case."""
    cases = {}
    for language, text in texts.items():
        for maker, by in MAKERS.items():
            whole = by(text, language)
            for damage in DAMAGE:
                word = "".join(letter for letter in language if letter.isalnum()).lower()
                path = folder / f"{word}-{maker}-{damage}.pdf"
                path.write_bytes(damaged(whole, damage, chance))
                read = subprocess.run(["pdftotext", "-q", "-enc", "UTF-8", path, "-"],
                                      capture_output=True, check=False).stdout
                # Of a file that pdftotext cannot read, the text is what was written.
                read = read.decode("utf-8", "replace")
                cases[str(path)] = (read if read.strip() else text, (language, maker, damage))
    return cases
