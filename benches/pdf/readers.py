"""Prints the text of a PDF by a reader that is published for Python, too: readers.py NAME FILE.

pip install pdf-oxide pdf-inspector oxidize-pdf pypdfium2; each but the last is a crate of the same
name and version. The interpreter adds about 15 MiB and 0.03 s to what is measured.
"""

import sys

name, path = sys.argv[1:]
if name == "pdf_oxide":
    import pdf_oxide
    document = pdf_oxide.PdfDocument(path)
    text = "\n".join(document.extract_text(page) for page in range(document.page_count()))
elif name == "pdf-inspector":
    import pdf_inspector
    text = pdf_inspector.extract_text(path)
elif name == "oxidize-pdf":
    import oxidize_pdf
    reader = oxidize_pdf.PdfReader.open(path)
    text = "\n".join(reader.extract_text_from_page(page) for page in range(reader.page_count))
else:
    import pypdfium2
    document = pypdfium2.PdfDocument(path)
    text = "\n".join(page.get_textpage().get_text_bounded() for page in document)
sys.stdout.buffer.write(text.encode("utf-8", "replace"))
