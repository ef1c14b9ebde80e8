//! Mailboxes, WARC files and archives, sound and damaged.

use super::*;

type Document = (String, Result<String, String>);

fn documents_of(name: &str, bytes: &[u8], archives: bool) -> Option<Vec<Document>> {
    let body = Ok(Bytes::copy_from_slice(bytes));
    let mut members = Members::of(Path::new(name), name.as_bytes(), &body, (archives, false))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let next = || {
        let raw = members.next()?;
        let Origin::File { name, .. } = raw.origin else { panic!("not a file") };
        Some((text(&name), raw.body.map(|body| text(&body)).map_err(|why| why.detail())))
    };
    Some(std::iter::from_fn(next).collect())
}

fn documents(name: &str, bytes: &[u8]) -> Vec<Document> {
    documents_of(name, bytes, true).unwrap()
}

fn ok(name: &str, text: &str) -> Document {
    (name.to_owned(), Ok(text.to_owned()))
}

const HEAD: &str = "Subject: s\nMessage-ID: <a@b>\n";

#[cfg(feature = "mail")]
#[test]
fn messages_begin_at_postmarks_and_not_at_lines_of_text() {
    let mail = |text: &str| format!("From x@y Mon Jan 1 00:00:00 2024\n{HEAD}\n{text}");
    let message = |text: &str| format!("{HEAD}\n{text}");
    for (text, expected) in [
        ("one\n\n", "one\n\n"),
        ("one\nFrom here on: two\n\n", "one\nFrom here on: two\n\n"),
        ("one\n\nFrom here on\nit is prose\n", "one\n\nFrom here on\nit is prose\n"),
        ("one\n>From the start\n>>From it\n> From\n", "one\nFrom the start\n>From it\n> From\n"),
        ("no line end", "no line end"),
    ] {
        let two = mail("first\n\n") + &mail(text);
        let expected = [ok("m#1", &message("first\n\n")), ok("m#2", &message(expected))];
        assert_eq!(documents("m", two.as_bytes()), expected, "{text}");
        let windows = two.replace('\n', "\r\n");
        let found = documents("m", windows.as_bytes());
        assert_eq!(found.len(), 2, "{text}");
        assert_eq!(found[1].1, Ok(message(expected_text(&expected)).replace('\n', "\r\n")));
    }
    // Thunderbird writes no date; drafts have few fields.
    let bare = format!("From \n{HEAD}\na\n\nFrom \nSubject: t\nX-Draft: 1\n\nb\n");
    let expected = [ok("m#1", &message("a\n\n")), ok("m#2", "Subject: t\nX-Draft: 1\n\nb\n")];
    assert_eq!(documents("m", bare.as_bytes()), expected);
    // One message is a document of its own, unless the name is that of a mailbox.
    let one = mail("text\n");
    assert_eq!(documents("0001", one.as_bytes()), [ok("0001", &message("text\n"))]);
    assert_eq!(documents("a.mbox", one.as_bytes()), [ok("a.mbox#1", &message("text\n"))]);
    // A message that is too large is named, and the next one is read.
    let long = format!("{}\n", "x".repeat(1 << 20)).repeat(65);
    let found = documents("m", (mail(&long) + "\n" + &mail("next\n")).as_bytes());
    assert_eq!(found[0].1, Err(Reason::TooLarge.detail()));
    assert_eq!(found[1..], [ok("m#2", &message("next\n"))]);
    assert!(documents_of("m", b"From here on it is text.\n", true).is_none());
}

#[cfg(feature = "mail")]
fn expected_text(expected: &[Document; 2]) -> &str {
    expected[1].1.as_ref().unwrap().split_once("\n\n").unwrap().1
}

fn record(kind: &str, body: &str) -> String {
    let length = body.len();
    format!("WARC/1.0\r\nwarc-type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n")
}

#[test]
fn pages_of_warc_files_are_documents() {
    let answer = |fields: &str, body: &str| {
        record("response", &format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}"))
    };
    let chunks = "4\r\nwiki\r\n6;x=y\r\npedia \r\n0\r\n\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let all = [
        record("warcinfo", "software: x\r\n"),
        record("conversion", "WARC/1.0\r\n\r\na text"),
        record("request", "GET / HTTP/1.1\r\n\r\n"),
        answer("A: b\r\n", "page"),
        answer(chunked, chunks),
        answer(chunked, "not in chunks"),
        record("response", "no header"),
    ];
    let whole = all.concat();
    let expected = [
        ok("w#2", "WARC/1.0\r\n\r\na text"),
        ok("w#4", "page"),
        ok("w#5", "wikipedia "),
        ok("w#6", "not in chunks"),
        ok("w#7", "no header"),
    ];
    assert_eq!(documents("w", whole.as_bytes()), expected);
    for end in whole.len() - 10..whole.len() - 4 {
        let found = documents("w", &whole.as_bytes()[..end]);
        assert_eq!(found[..4], expected[..4]);
        assert_eq!(found[4..], [("w#7".to_owned(), Err("it is cut off".to_owned()))]);
    }
    let wrong = whole.replace("Content-Length: 9\r\n", "Content-Length: many\r\n");
    let found = documents("w", wrong.as_bytes());
    assert_eq!((found.len(), found[4].1.is_err()), (5, true));
    let more = documents("w", (whole + "garbage").as_bytes());
    assert_eq!(more[5].1, Err("no WARC record where one begins".to_owned()));
    let huge = "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 18446744073709551615\r\n\r\nx";
    assert_eq!(documents("w", huge.as_bytes())[0].1, Err("it is cut off".to_owned()));
}

#[cfg(feature = "archives")]
mod archives {
    use std::io::Write as _;

    use super::*;

    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.as_mut_bytes()[..name.len().min(100)]
                .copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
            header.set_cksum();
            if name.len() > 100 {
                builder.append_data(&mut header, name, *content).unwrap();
            } else {
                builder.append(&header, *content).unwrap();
            }
        }
        builder.into_inner().unwrap()
    }

    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn files_of_archives_are_documents_with_names_that_stay_inside() {
        let long = "n/".repeat(90) + "x";
        let block = "b".repeat(512);
        let files: &[(&str, &[u8])] = &[
            ("a/1.txt", b"one"),
            ("../../etc/passwd", b"two"),
            ("/./b//2", block.as_bytes()),
            (".git/config", b"hidden"),
            (&long, b"three"),
            ("", b"four"),
        ];
        for (name, bytes) in [("a.tar", tar(files)), ("a.zip", zip(files))] {
            let key = |member: &str| format!("{name}!{member}");
            let expected = [
                ok(&key("a/1.txt"), "one"),
                ok(&key("etc/passwd"), "two"),
                ok(&key("b/2"), &block),
                ok(&key(&long), "three"),
                ok(&key(""), "four"),
            ];
            assert_eq!(documents(name, &bytes), expected);
            assert!(documents_of(name, &bytes, false).is_none(), "only on request");
        }
        assert!(documents_of("a.docx", &zip(&[("[Content_Types].xml", b"<x/>")]), true).is_none());
        let empty = [("a.tar".to_owned(), Err(Reason::Empty.detail()))];
        assert_eq!(documents("a.tar", &tar(&[("x/", b"")])), empty);
    }

    #[test]
    fn a_tar_archive_that_is_cut_off_or_overwritten_is_named() {
        let whole = tar(&[("a", &[b'x'; 700]), ("b", b"y")]);
        for end in (520..whole.len()).step_by(37) {
            let found = documents("t", &whole[..end]);
            let is_cut = end < 512 + 1_024 + 512 + 512 + 512;
            assert_eq!(found.iter().any(|one| one.1.is_err()), is_cut, "{end}");
        }
        let mut wrong = whole.clone();
        wrong[1_540] ^= 1;
        let found = documents("t", &wrong);
        assert!(found[0].1.is_ok() && found[1].1.as_ref().is_err_and(|why| why.contains("tar: ")));
    }

    #[test]
    fn reading_ends_at_a_bomb() {
        let zeros = vec![0; 1 << 20];
        let many: Vec<(String, &[u8])> = (0..20).map(|n| (n.to_string(), &*zeros)).collect();
        let many: Vec<(&str, &[u8])> = many.iter().map(|(name, body)| (&**name, *body)).collect();
        let is_end = |found: &[Document]| {
            let error = found.last().unwrap().1.as_ref().unwrap_err().clone();
            assert!(error.contains("far more than its size"), "{error}");
            assert!((1..19).contains(&found.len()), "{}", found.len());
        };
        is_end(&documents("b.zip", &zip(&many)));
        let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let mut builder = tar::Builder::new(packed);
        for (name, content) in many {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, content).unwrap();
        }
        is_end(&documents("b.tar.gz", &builder.into_inner().unwrap().finish().unwrap()));
    }
}
