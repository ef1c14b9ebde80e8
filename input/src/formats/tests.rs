//! Tests of text extraction, with valid and with damaged files of all formats.

use super::*;

fn read(name: &str, bytes: &[u8]) -> Result<String, Reason> {
    text(Path::new(name), bytes.to_vec()).map(|decoded| decoded.text)
}

fn words(name: &str, bytes: &[u8]) -> String {
    read(name, bytes).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind(name: &str, bytes: &[u8]) -> &'static str {
    read(name, bytes).unwrap_err().kind()
}

#[test]
fn encodings_are_told_apart() {
    let (cafe, plain) = ("Im Caf\u{e9} gibt es \u{201e}\u{c4}pfel\u{201c}", "plain text");
    let utf_16 = |text: &str, order: fn(u16) -> [u8; 2]| {
        text.encode_utf16().flat_map(order).collect::<Vec<u8>>()
    };
    let (little, big) = (utf_16(cafe, u16::to_le_bytes), utf_16(cafe, u16::to_be_bytes));
    assert_eq!(words("a", cafe.as_bytes()), cafe);
    assert_eq!(words("a", &[b"\xef\xbb\xbf", cafe.as_bytes()].concat()), cafe);
    assert_eq!(words("a", &[b"\xff\xfe", &little[..]].concat()), cafe);
    assert_eq!(words("a", &[b"\xfe\xff", &big[..]].concat()), cafe);
    assert_eq!(words("a", &utf_16(plain, u16::to_le_bytes)), plain);
    assert_eq!(words("a", &utf_16(plain, u16::to_be_bytes)), plain);
    assert_eq!(
        words("a", b"Im Caf\xe9 gibt es \x84\xc4pfel\x93 und mehr"),
        cafe.to_owned() + " und mehr"
    );
    let japanese = "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{7ae0}\u{3067}\u{3059}";
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
    assert_eq!(words("a", &bytes), japanese);
}

#[test]
fn binary_files_say_why() {
    assert_eq!(kind("a", b"ab\0c"), "binary");
    assert_eq!(kind("a", b"\xff\xfea"), "binary", "half a character");
    assert_eq!(kind("a", b"\x01\x8b\x08\x01\x02\xff\xfe\x03\x80"), "binary");
    let late = [vec![b'a'; 8 << 10], vec![0]].concat();
    assert!(read("a", &late).is_ok(), "a NUL byte beyond the first 8 KiB is text");
}

#[test]
fn an_mbox_is_named_and_not_read() {
    assert_eq!(kind("a.mbox", b"From a@b Sat Jan  3 01:05:34 1996\n"), "unparsable");
    assert_eq!((kind("a.mbox", b"only words\n"), kind("a.mbox", b"\n")), ("unparsable", "empty"));
    let message = "From - Sat Jan  3 01:05:34 1996\nX-Mozilla-Status: 0001\nReceived: by x\n\
        Subject: a\n\ntext\n";
    assert!(detail("Inbox", message.repeat(2).as_bytes()).contains("an mbox"));
    assert_eq!(words("Inbox", b"From here to there\nit is far"), "From here to there it is far");
    // As `git mailsplit` writes each message.
    if cfg!(feature = "mail") {
        assert_eq!(words("0001", format!("{message}From here\n").as_bytes()), "a text From here");
    }
}

#[test]
fn postscript_is_named_and_not_read() {
    for begin in ["%!PS-Adobe-3.0\n", "\u{4}%!PS\n", "\u{1b}%-12345X@PJL\n"] {
        let page = format!("{begin}/Times-Roman findfont 12 scalefont setfont (a text) show");
        assert!(detail("a.ps", page.as_bytes()).starts_with("unread format (PostScript"));
    }
}

#[cfg(feature = "html")]
#[test]
fn html_is_what_a_person_sees() {
    let page = b"<!DOCTYPE html><title>T</title><style>x{}</style><script>y()</script>\
        <p>One <b>two</b> <a href='http://e.example/'>three</a><table><tr><td>four<td>five</table>";
    for name in ["a.html", "a.HTM", "page"] {
        assert_eq!(words(name, page), "One two three four five");
    }
    let old = b"<html><head><meta charset=\"koi8-r\"></head><p>\xf0\xf2\xe9";
    assert_eq!(words("a.html", old), "\u{41f}\u{420}\u{418}");
    assert_eq!(kind("a.html", b"<p>a\0b"), "binary");
}

#[cfg(feature = "html")]
#[test]
fn deep_html_neither_hangs_nor_overflows() {
    for tag in ["<div>", "<b>", "<table><tr><td>", "<ul><li>", "<blockquote>"] {
        let page = tag.repeat(3_000) + "deep";
        // The result may be the text or an error, but the process must survive.
        let _ = read("a.html", page.as_bytes());
    }
}

#[cfg(feature = "mail")]
#[test]
fn mail_is_its_subject_and_text() {
    let mail =
        b"Return-Path: <a@b>\r\nFrom: A <a@b>\r\nSubject: =?utf-8?q?Caf=C3=A9?= at\r\n six\r\n\
        Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: \
        quoted-printable\r\n\r\nMeet me =E9t the door.\r\n";
    for name in ["a.eml", "1234.M5P.host:2,S"] {
        assert_eq!(words(name, mail), "Caf\u{e9} at six Meet me \u{e9}t the door.");
    }
    let html = b"From: a@b\nDate: x\nContent-Type: text/html\n\n<p>Only <i>this</i></p>";
    assert_eq!(words("a.eml", html), "Only this");
    let plain = [
        "Name: x\nVersion: 1\n\ntext",
        "From: Ann\nTo be sure, this is prose.",
        "from: here\nto: there\ndate: today\n",
        "Subject: a letter\nTo: you\n\nof old",
    ];
    for text in plain {
        assert!(!words("notes", text.as_bytes()).is_empty(), "{text}");
        assert_eq!(words("notes", text.as_bytes()), words("a.txt", text.as_bytes()));
        assert!(words("notes", text.as_bytes()).contains(':'), "{text}");
    }
}

#[cfg(feature = "mail")]
#[test]
fn mail_whose_parts_are_not_found_is_not_read_as_its_subject() {
    let head = "Return-Path: <a@b>\r\nFrom: a@b\r\nSubject: s\r\n";
    let without = format!(
        "{head}Content-Type: multipart/mixed\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n\
         the text\r\n--x--\r\n"
    );
    let mixed = "Content-Type: multipart/mixed; boundary=b";
    let level = |level| format!("{mixed}{level}\r\n\r\n--b{level}\r\n");
    let levels: Vec<_> = (0..500).map(level).collect();
    let mut deep = head.to_owned() + &levels.concat();
    deep += "Content-Type: text/plain\r\n\r\nthe text\r\n";
    for mail in [without, deep] {
        match read("a.eml", mail.as_bytes()) {
            Ok(text) => assert!(text.contains("the text"), "{text}"),
            Err(reason) => assert!(format!("{reason:?}").contains("its parts"), "{reason:?}"),
        }
    }
    let empty = format!("{head}Content-Type: multipart/mixed\r\n\r\n");
    assert_eq!(words("a.eml", empty.as_bytes()), "s");
}

#[cfg(feature = "mail")]
#[test]
fn mail_is_read_in_all_charsets_whatever_it_declares() {
    use encoding_rs::{BIG5, EUC_JP, EUC_KR, GB18030, ISO_2022_JP, KOI8_R, SHIFT_JIS};
    let japanese = "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{7ae0}\u{3067}\u{3059}\u{3002}";
    let russian =
        "\u{412}\u{441}\u{435} \u{43b}\u{44e}\u{434}\u{438} \u{440}\u{430}\u{432}\u{43d}\u{44b}";
    let korean = "\u{baa8}\u{b4e0} \u{c778}\u{ac04}";
    let chinese = "\u{4eba}\u{4eba}\u{751f}\u{800c}\u{81ea}\u{7531}";
    let mail = |charset: &str, transfer: &str, body: &[u8]| {
        let head = format!(
            "Return-Path: <a@b>\r\nFrom: a@b\r\nSubject: s\r\nContent-Type: text/plain{charset}\r\n\
             Content-Transfer-Encoding: {transfer}\r\n\r\n"
        );
        [head.as_bytes(), body, b"\r\n"].concat()
    };
    for (text, encoding) in [
        (japanese, SHIFT_JIS),
        (japanese, EUC_JP),
        (japanese, ISO_2022_JP),
        (chinese, GB18030),
        (chinese, BIG5),
        (korean, EUC_KR),
        (russian, KOI8_R),
    ] {
        let (bytes, ..) = encoding.encode(text);
        let charset = format!("; charset={}", encoding.name());
        let quoted = bytes.iter().map(|byte| format!("={byte:02X}")).collect::<Vec<_>>().concat();
        let expected = format!("s {text}");
        assert_eq!(words("a.eml", &mail(&charset, "8bit", &bytes)), expected, "{charset}");
        let quoted = mail(&charset, "quoted-printable", quoted.as_bytes());
        assert_eq!(words("a.eml", &quoted), expected, "{charset}");
    }
    // Base64 of `japanese` in Shift JIS.
    let base64 = b"k/qWe4zqgsyVto/NgsWCt4FC";
    let base64 = mail("; charset=shift_jis", "base64", base64);
    assert_eq!(words("a.eml", &base64), format!("s {japanese}"));
    for charset in ["", "; charset=us-ascii", "; charset=no-such-charset"] {
        let text = [russian; 9].join(" ");
        let utf_8 = mail(charset, "8bit", text.as_bytes());
        assert_eq!(words("a.eml", &utf_8), format!("s {text}"), "{charset}");
        let old = mail(charset, "8bit", &KOI8_R.encode(&text).0);
        assert_eq!(words("a.eml", &old), format!("s {text}"), "{charset}");
    }
    let utf_7 = mail("; charset=utf-7", "7bit", b"Caf+AOk-");
    assert_eq!(words("a.eml", &utf_7), "s Caf\u{e9}");
    let (subject, ..) = KOI8_R.encode(russian);
    let raw = [b"Received: x\nSubject: ", &*subject, b"\nFrom: a\n\ntext\n"].concat();
    assert_eq!(words("a", &raw), format!("{russian} text"));
}

#[cfg(feature = "pdf")]
#[test]
fn a_pdf_is_read_whatever_stands_around_it() {
    let pdf = pdf_of("Permission is hereby granted");
    let http = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n";
    for before in [&b"\r\n"[..], b"\xef\xbb\xbf", http] {
        let words = words("a", &[before, &pdf].concat());
        assert_eq!(words, "Permission is hereby granted", "{before:?}");
    }
    let padded = [&pdf[..], &[0; 2_000]].concat();
    assert_eq!(words("a.pdf", &padded), "Permission is hereby granted");
    let find = |words: &[u8]| pdf.windows(words.len()).rposition(|found| found == words).unwrap();
    for end in [find(b"startxref"), find(b"trailer"), find(b"xref\n0"), find(b"%%EOF")] {
        assert_eq!(words("a.pdf", &pdf[..end]), "Permission is hereby granted", "cut at {end}");
    }
    let text = b"A PDF begins with\n%PDF-1.4\nand ends with %%EOF.";
    assert!(words("a.txt", text).starts_with("A PDF begins with %PDF-1.4"));
}

#[cfg(feature = "pdf")]
#[test]
fn a_pdf_is_not_read_if_its_last_page_is_cut() {
    let pdf = String::from_utf8(pdf_of("Permission is")).unwrap();
    let pdf = pdf.replace("/Kids [3 0 R] /Count 1", "/Kids [3 0 R 6 0 R] /Count 2");
    let (pdf, _) = pdf.split_once("xref\n").unwrap();
    let page = "6 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 7 0 R \
                /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n";
    // At the height of the other page's text: the words are not joined all the same.
    let content = "BT /F1 12 Tf 72 720 Td (granted) Tj ET";
    let text = format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len());
    let whole = format!("{pdf}{page}7 0 obj\n{text}\nendobj\n");
    assert_eq!(words("a.pdf", whole.as_bytes()), "Permission is granted");
    let cut_in_text = &whole[..whole.len() - 40];
    for cut in [cut_in_text, &format!("{pdf}{page}"), pdf] {
        let reason = detail("a.pdf", cut.as_bytes());
        assert!(reason.contains("a part of the file is lost"), "{reason}");
    }
}

#[cfg(feature = "pdf")]
#[test]
fn a_pdf_is_not_read_if_a_page_is_lost() {
    let pdf = String::from_utf8(pdf_of("Permission is")).unwrap();
    let packed = "/Filter /FlateDecode /Length";
    for (there, lost) in [
        ("/Contents 4 0 R", "/Contents 9 0 R"),
        ("/Contents 4 0 R", "/Contents [4 0 R 9 0 R]"),
        ("/Kids [3 0 R] /Count 1", "/Kids [3 0 R 9 0 R] /Count 2"),
        ("/Length", "/Filter /FlateDecode /Length"),
        ("/Length", "/Filter /RunLengthDecode /Length"),
    ] {
        let pdf = pdf.replace(there, lost);
        let reason = detail("a.pdf", pdf.as_bytes());
        assert!(reason.contains("a part of the file is lost"), "{lost}: {reason}");
    }
    let with = |content: &[u8]| {
        let (before, after) = pdf.split_once("/Length").unwrap();
        let (_, after) = after.split_once("\nendstream").unwrap();
        let head = format!("{before}{packed} {} >>\nstream\n", content.len());
        [head.as_bytes(), content, b"\nendstream", after.as_bytes()].concat()
    };
    let content = "BT /F1 12 Tf 72 720 Td (Permission is granted) Tj ET";
    let mut content = zlib(content.as_bytes());
    assert_eq!(words("a.pdf", &with(&content)), "Permission is granted");
    // The checksum at the end is wrong or lost in many files.
    *content.last_mut().unwrap() ^= 1;
    assert_eq!(words("a.pdf", &with(&content)), "Permission is granted");
    content.truncate(content.len() - 4);
    assert_eq!(words("a.pdf", &with(&content)), "Permission is granted");
    content.truncate(content.len() - 9);
    let reason = detail("a.pdf", &with(&content));
    assert!(reason.contains("a part of the file is lost"), "{reason}");
}

#[cfg(feature = "pdf")]
fn zlib(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[cfg(feature = "pdf")]
#[test]
fn a_pdf_that_is_not_read_names_the_other_reader() {
    let pdf = pdf_of("Permission");
    let pdf = String::from_utf8(pdf).unwrap().replace(
        "/Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding",
        "/Subtype /Type0 /BaseFont /X /Encoding /UniJIS-UCS2-H /DescendantFonts [<< /Type /Font \
         /Subtype /CIDFontType0 /BaseFont /X >>]",
    );
    let reason = detail("a.pdf", pdf.as_bytes());
    assert!(reason.contains("--pdf-command pdftotext"), "{reason}");
}

#[cfg(feature = "pdf")]
#[test]
fn pdf_is_its_text_and_garbage_is_named() {
    let pdf = pdf_of("Permission is hereby granted");
    assert_eq!(words("a.bin", &pdf), "Permission is hereby granted");
    assert_eq!(kind("a.pdf", b"%PDF-1.7\nnothing of it"), "unparsable");
    // Damages every third byte, one at a time. Each file may be read or refused, but the process
    // must survive.
    for at in (0..pdf.len()).step_by(3) {
        let mut damaged = pdf.clone();
        damaged[at] ^= 0x15;
        let _ = read("a.pdf", &damaged);
    }
}

/// Builds a small PDF with a single page.
#[cfg(feature = "pdf")]
fn pdf_of(line: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    let mut pdf = "%PDF-1.4\n".to_owned();
    let mut table = String::new();
    for (at, object) in objects.iter().enumerate() {
        table.extend([format!("{:010} 00000 n \n", pdf.len())]);
        pdf.extend([format!("{} 0 obj\n{object}\nendobj\n", at + 1)]);
    }
    let begin = pdf.len();
    pdf.extend([format!("xref\n0 6\n0000000000 65535 f \n{table}")]);
    pdf.extend([format!("trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n")]);
    pdf.into_bytes()
}

#[cfg(feature = "office")]
fn zip_of(parts: &[(&str, &str)]) -> Vec<u8> {
    use std::io::{Cursor, Write as _};
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[cfg(feature = "office")]
#[test]
fn office_documents_are_what_a_person_reads() {
    let word = "<?xml version='1.0'?><w:document xmlns:w='x'><w:body><w:p><w:r><w:t>Caf\u{e9} \
        &amp; B</w:t></w:r><w:r><w:t>ar</w:t><w:tab/><w:t>one</w:t></w:r></w:p><w:p><w:del><w:r>\
        <w:t>gone</w:t></w:r></w:del><w:r><w:instrText>FIELD</w:instrText><w:t>tw&#111;</w:t></w:r>\
        </w:p></w:body></w:document>";
    let notes = "<w:footnotes xmlns:w='x'><w:p><w:t>a note</w:t></w:p></w:footnotes>";
    let docx = zip_of(&[("word/document.xml", word), ("word/footnotes.xml", notes)]);
    assert_eq!(words("a.docx", &docx), "Caf\u{e9} & Bar one two a note");
    let slide = |text: &str| format!("<p:sld><a:p><a:t>{text}</a:t></a:p><x>no</x></p:sld>");
    let pptx = zip_of(&[
        ("ppt/presentation.xml", "<x/>"),
        ("ppt/slides/slide10.xml", &slide("last")),
        ("ppt/slides/slide2.xml", &slide("second")),
        ("ppt/slides/_rels/slide2.xml", &slide("no")),
    ]);
    assert_eq!(words("a.pptx", &pptx), "second last");
    let content = "<office:document-content><office:automatic-styles>no</office:automatic-styles>\
        <office:body><office:text><text:h>Title</text:h><text:p>one<text:s/>two<text:line-break/>\
        three<office:annotation><text:p>no</text:p></office:annotation></text:p></office:text>\
        </office:body></office:document-content>";
    let kind_of = "application/vnd.oasis.opendocument.";
    let odt = zip_of(&[("mimetype", &format!("{kind_of}text")), ("content.xml", content)]);
    assert_eq!(words("a", &odt), "Title one two three");
    let ods = zip_of(&[("mimetype", &format!("{kind_of}spreadsheet")), ("content.xml", content)]);
    assert!(detail("a.ods", &ods).contains("a spreadsheet (.ods)"));
    assert!(detail("a.xlsx", &zip_of(&[("xl/workbook.xml", "<x/>")])).contains("a spreadsheet"));
    assert!(detail("a.zip", &zip_of(&[("a.txt", "text")])).contains("a ZIP archive"));
    // Decompressed, this is larger than a document may be.
    let large = "<w:t>".to_owned() + &"a".repeat(65 << 20);
    assert_eq!(kind("a.docx", &zip_of(&[("word/document.xml", &large)])), "unparsable");
    let cut = zip_of(&[("word/document.xml", word.split_once("</w:body>").unwrap().0)]);
    assert!(detail("a.docx", &cut).contains("its end is lost"));
    for end in (0..docx.len()).step_by(7) {
        let _ = read("a.docx", &docx[..end]);
    }
}

#[cfg(feature = "office")]
#[test]
fn a_text_box_is_read_once() {
    let box_of =
        |text: &str| format!("<w:txbxContent><w:p><w:t>{text}</w:t></w:p></w:txbxContent>");
    let word = format!(
        "<w:document xmlns:w='x'><w:p><w:t>before</w:t><mc:AlternateContent xmlns:mc='y'>\
         <mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent></w:p>\
         <w:tbl><w:tr><w:tc><w:t>a cell</w:t></w:tc></w:tr></w:tbl></w:document>",
        box_of("in a box"),
        box_of("in a box")
    );
    assert_eq!(words("a.docx", &zip_of(&[("word/document.xml", &word)])), "before in a box a cell");
}

/// Builds an archive with a book of two pages in each of these folders. `kind` is the content of
/// `mimetype`.
#[cfg(all(feature = "office", feature = "html"))]
fn book(kind: Option<&str>, folders: &[&str]) -> Vec<u8> {
    let page = |text: &str| format!("<html><head><title>t</title></head><p>{text}</p></html>");
    let pages = [
        (
            "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path='O/c.opf'/></rootfiles></container>"
                .to_owned(),
        ),
        (
            "O/c.opf",
            "<package><manifest><item id='b' href='b%20c.xhtml'/><item id='a' href='x/a.xhtml'/>\
             <item id='c' href='b%20c.xhtml#part'/><item id='n' href='nav.xhtml'/></manifest>\
             <spine><itemref idref='a'/><itemref idref='c'/><itemref idref='b'/></spine></package>"
                .to_owned(),
        ),
        ("O/b c.xhtml", page("second")),
        ("O/x/a.xhtml", page("first")),
        ("O/nav.xhtml", page("no")),
    ];
    let mut parts: Vec<(String, &str)> = Vec::new();
    for folder in folders {
        parts.extend(kind.map(|kind| (format!("{folder}mimetype"), kind)));
        parts.extend(pages.iter().map(|(name, text)| (format!("{folder}{name}"), text.as_str())));
    }
    zip_of(&parts.iter().map(|(name, text)| (name.as_str(), *text)).collect::<Vec<_>>())
}

#[cfg(all(feature = "office", feature = "html"))]
#[test]
fn epub_is_read_in_the_order_of_its_pages() {
    let book = book(Some("application/epub+zip"), &[""]);
    assert_eq!(words("a.epub", &book), "first second");
}

#[cfg(all(feature = "office", feature = "html"))]
#[test]
fn a_book_that_says_not_what_it_is_or_lies_in_a_folder_is_read() {
    let kind = Some("application/epub+zip");
    for (kind, folder) in [(None, ""), (None, "epub/"), (kind, "epub/"), (Some("no"), "")] {
        assert_eq!(words("a.epub", &book(kind, &[folder])), "first second", "{kind:?} {folder}");
    }
    // An archive with several books is not read as a book. Neither is an archive with a file whose
    // name merely ends in the name of the container file.
    assert!(detail("a.zip", &book(None, &["one/", "two/"])).contains("a ZIP archive"));
    let other = zip_of(&[("a/NOT-META-INF/container.xml", "<x/>")]);
    assert!(detail("a.zip", &other).contains("a ZIP archive"));
}

#[cfg(feature = "rtf")]
#[test]
fn rtf_is_its_text() {
    let rtf =
        br"{\rtf1\ansi{\fonttbl\f0\fswiss Helvetica;}\f0\pard One {\b two} three.\par Four\par }";
    assert_eq!(words("a", rtf), "One two three. Four");
    for end in 0..rtf.len() {
        let _ = read("a.rtf", &rtf[..end]);
    }
}

#[test]
fn packed_texts_are_read_as_what_they_are() {
    use std::io::Write as _;
    let pack = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    assert_eq!(words("a.txt.gz", &[pack(b"one "), pack(b"two")].concat()), "one two");
    if cfg!(feature = "html") {
        assert_eq!(words("a.html.gz", &pack(b"<p>one <b>two</b>")), "one two");
    }
    let whole = pack(b"one two three");
    assert_eq!(kind("a.gz", &whole[..whole.len() - 9]), "unparsable");
    let tar = [vec![b'a'; 257], b"ustar\0".to_vec(), vec![0; 200]].concat();
    assert!(detail("a.tar.gz", &pack(&tar)).contains("a tar archive"));
    assert_eq!(kind("a.gz", &pack(&vec![b'a'; 65 << 20])), "too large");
}

fn detail(name: &str, bytes: &[u8]) -> String {
    let reason = read(name, bytes).unwrap_err();
    format!("{} ({})", reason.kind(), reason.detail())
}

#[test]
fn unsupported_files_are_named_by_their_format() {
    let office = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0";
    for (name, bytes, expected) in [
        ("a.doc", &office[..], "unread format (a Word 97 document (.doc) is not read"),
        ("a.xls", office, "unread format (a spreadsheet (.xls)"),
        ("a", b"\x89PNG\r\n\x1a\n\0\0", "binary (a PNG picture)"),
        ("a", b"\x7fELF\0\0", "binary (a program or library (ELF))"),
        ("a", b"\0\0\0\x20ftypisom", "binary (an MPEG-4 film"),
        ("a", b"RIFF\0\0\0\0WEBP", "binary (a WebP picture)"),
        ("a", b"SQLite format 3\0", "unread format (an SQLite database)"),
        ("a", b"who knows\0", "binary (a NUL byte at 9)"),
    ] {
        assert!(detail(name, bytes).starts_with(expected), "{}", detail(name, bytes));
    }
    // A text may begin with the magic number of another format.
    assert_eq!(words("a", b"MZ is the beginning"), "MZ is the beginning");
}
