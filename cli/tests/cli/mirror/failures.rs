//! Files that `nearkin mirror` cannot read, or must not read, and what becomes of their documents.

use super::*;

/// A document whose file could not be read is kept, and the reason is reported.
#[cfg(feature = "pdf")]
#[test]
fn a_document_of_an_unreadable_file_is_kept() {
    let scratch = Scratch::new();
    let texts = [1, 2, 3, 4].map(text);
    let names = ["d/binary", "d/damaged", "d/empty", "d/large"];
    let files: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    scratch.write_old(&files);
    scratch.mirror("i d");
    let large = fs::File::options().write(true).open(scratch.path("d/large")).unwrap();
    large.set_len(65 << 20).unwrap();
    scratch.make_old("d/large");
    scratch.write_old(&[
        ("d/binary", "a\0b"),
        ("d/damaged", "%PDF-1.7\nnothing of it"),
        ("d/empty", " "),
    ]);
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["removed d/empty empty"]);
    assert_eq!(count(&counts, &["removed", "kept", "skipped", "waiting"]), [1, 3, 4, 0]);
    assert_eq!(scratch.documents("i").len(), 3);
    assert_eq!(count(&scratch.mirror("i d").1, &["kept", "read", "waiting"]), [3, 0, 0]);
    scratch.ok("mirror i d").says(&["3 documents kept although their files could not be read"]);
    // A changed file is tried at once.
    scratch.write_old(&[("d/damaged", &text(5)), ("d/binary", &text(1))]);
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["replaced d/damaged"]);
    assert_eq!(count(&counts, &["unchanged", "kept", "waiting"]), [1, 1, 0]);
}

/// A parser that failed once is tried again, and may succeed.
#[cfg(unix)]
#[test]
fn a_parser_that_fails_once_is_asked_again() {
    let scratch = Scratch::new();
    let page = |number| format!("%PDF-1.7\n{}", text(number));
    let mirror = ["mirror", "i", "d", "--json", "--pdf-command", "sh reader"];
    let counts = || scratch.run_split(&mirror).ends_with(0).objects().pop().unwrap();
    scratch.write("reader", "cat");
    scratch.write_old(&[("d/page.pdf", &page(1))]);
    assert_eq!(count(&counts(), &["added"]), [1]);
    let before = scratch.documents("i");
    scratch.write_old(&[("d/page.pdf", &page(2)), ("d/new.pdf", &page(3))]);
    scratch.write("reader", "exit 3");
    let ran = scratch.run_split(&mirror).ends_with(0);
    let ran = ran.says(&["skipped d/new.pdf: parser failed (PDF: sh reader: exit status: 3)"]);
    let failed = ran.objects().pop().unwrap();
    assert_eq!(count(&failed, &["replaced", "removed", "kept", "waiting"]), [0, 0, 1, 2]);
    assert_eq!(scratch.documents("i"), before);
    scratch.write("reader", "cat");
    let counted = counts();
    assert_eq!(count(&counted, &["added", "replaced", "kept", "waiting"]), [1, 1, 0, 0]);
    // A file that failed twice waits; once it has changed, it is tried at once.
    scratch.write_old(&[("d/new.pdf", &page(4))]);
    scratch.write("reader", "exit 3");
    for read in [1, 1, 0] {
        assert_eq!(count(&counts(), &["kept", "read", "waiting"]), [1, read, 1]);
    }
    scratch.write_old(&[("d/new.pdf", &page(5))]);
    scratch.write("reader", "cat");
    assert_eq!(count(&counts(), &["replaced", "read", "waiting"]), [1, 1, 0]);
}

/// The same bytes are refused again, so they are not parsed again until the file changes.
#[test]
fn a_file_its_parser_refuses_is_parsed_once() {
    let scratch = Scratch::new();
    let write = |bytes: &[u8]| {
        scratch.write("d/a.txt.gz", bytes);
        scratch.make_old("d/a.txt.gz");
        scratch.write_old(&[("d/b", &text(2))]);
    };
    write(b"\x1f\x8b\x08\0broken");
    let ran = scratch.ok("mirror i d").says(&["d/a.txt.gz: unparsable (gzip: "]);
    assert!(ran.stderr.contains("1 skipped (1 unparsable)"), "{}", ran.stderr);
    for _ in 0..2 {
        let counts = scratch.mirror("i d").1;
        assert_eq!(count(&counts, &["read", "skipped", "waiting"]), [0, 1, 0]);
    }
    write(b"\x1f\x8b\x08\0broken, too");
    // The other file has new times, and is read, too.
    assert_eq!(count(&scratch.mirror("i d").1, &["read", "waiting"]), [2, 0]);
}

/// The document records the program that extracted the text of its PDF. With another program, the
/// file is read again.
#[cfg(unix)]
#[test]
fn pdf_is_read_by_the_program_that_is_asked_for() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a.pdf", &format!("%PDF-1.7\n{}", text(1)))]);
    let (lines, _) = scratch.mirror("i d --pdf-command cat");
    assert_eq!(lines, ["added d/a.pdf"]);
    assert_eq!(count(&scratch.mirror("i d --pdf-command cat").1, &["unchanged", "read"]), [1, 0]);
    scratch.ok("query i d/a.pdf --pdf-command cat").prints(">0.99");
    // Another program, which fails.
    let ran = scratch.ok("mirror i d --pdf-command no-such-reader");
    ran.says(&["d/a.pdf: parser failed (PDF: no-such-reader: No such file", "kept"]);
    assert_eq!(count(&scratch.mirror("i d --pdf-command cat").1, &["unchanged", "read"]), [1, 0]);
}

/// A PDF of less than a megabyte that expands to 600 MB.
#[cfg(all(target_os = "linux", feature = "pdf"))]
#[test]
fn a_pdf_out_of_memory_keeps_its_document() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a.pdf", &text(1)), ("d/b", &text(2))]);
    scratch.mirror("i d");
    fs::write(scratch.path("d/a.pdf"), bomb()).unwrap();
    scratch.make_old("d/a.pdf");
    let before = scratch.documents("i");
    let ran = scratch.ok("mirror i d");
    ran.says(&[
        "d/a.pdf: parser failed (PDF: ",
        "needs more than 112 MiB of memory",
        "1 document kept",
    ]);
    assert_eq!(scratch.documents("i"), before);
}

/// A PDF with one page, whose content is compressed to about a thousandth of its size.
#[cfg(all(target_os = "linux", feature = "pdf"))]
fn bomb() -> Vec<u8> {
    use std::io::Write as _;
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..600 {
        packer.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let content = packer.finish().unwrap();
    let mut pdf = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n\
        << /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n3 0 obj\n<< /Type /Page /Parent 2 0 R \
        /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>\nendobj\n"
        .to_vec();
    let mut places: Vec<usize> = Vec::new();
    for number in 1..4 {
        let head = format!("\n{number} 0 obj");
        places.push(pdf.windows(head.len()).position(|at| at == head.as_bytes()).unwrap() + 1);
    }
    places.push(pdf.len());
    let head = format!("4 0 obj\n<< /Filter /FlateDecode /Length {} >>\nstream\n", content.len());
    pdf.extend(head.as_bytes());
    pdf.extend(content);
    pdf.extend(b"\nendstream\nendobj\n");
    let table = places.iter().map(|place| format!("{place:010} 00000 n \n"));
    let begin = pdf.len();
    let table = table.collect::<String>();
    let end = format!(
        "xref\n0 5\n0000000000 65535 f \n{table}trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n\
         {begin}\n%%EOF\n"
    );
    pdf.extend(end.as_bytes());
    pdf
}

#[test]
fn an_ignored_file_is_not_gone() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a.log", &text(1)), ("d/b", &text(2)), ("d/.c", &text(3))]);
    scratch.mirror("i d --hidden");
    fs::remove_file(scratch.path("d/b")).unwrap();
    scratch.write("d/.gitignore", "*.log\n.gitignore\n");
    let (lines, counts) = scratch.mirror("i d --hidden --dry-run");
    assert_eq!(lines, ["removed d/a.log now ignored", "removed d/b gone"]);
    assert_eq!(count(&counts, &["removed", "ignored"]), [2, 1]);
    // Without --hidden no document would remain, which needs --allow-empty.
    scratch.fails("mirror i d", &["every file of d is ignored", "3 documents", "--allow-empty"]);
    let ran = scratch.ok("mirror i d --allow-empty").prints("removed   d/.c  now ignored\n");
    ran.says(&["3 removed (2 now ignored)"]);
}

/// A first run over many files names near-duplicates, then the first other changes, and counts the
/// rest.
#[test]
fn of_many_changes_the_first_ones_are_named() {
    let scratch = Scratch::new();
    for number in 0..50 {
        scratch.write(&format!("d/{number:02}"), text(number));
        scratch.write(&format!("d/bin{number:02}"), "a\0b");
    }
    scratch.write("d/zz", text(49) + " and more");
    let ran = scratch.ok("mirror i d");
    assert_eq!(ran.stdout.lines().count(), 21, "{}", ran.stdout);
    let first = slashes(ran.stdout.lines().next().unwrap());
    assert!(first.starts_with("added     d/zz  near-duplicate of d/49 (0."), "{first}");
    assert_eq!(slashes(&ran.stderr).matches("skipped d/bin").count(), 5, "{}", ran.stderr);
    ran.says(&["30 more added (--verbose", "skipped 45 more: binary (--verbose", "50 skipped"]);
    let ran = scratch.ok("mirror j d -v");
    assert_eq!(ran.stdout.lines().count(), 51, "{}", ran.stdout);
    assert_eq!(slashes(&ran.stderr).matches("skipped d/bin").count(), 50, "{}", ran.stderr);
    let ran = scratch.ok("mirror k d -q");
    assert_eq!(ran.stderr, "");
}

#[cfg(unix)]
#[test]
fn a_scanned_pdf_says_that_it_has_no_text_layer() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a.pdf", &format!("%PDF-1.7\n{}", text(1)))]);
    scratch.ok("mirror i d --pdf-command cat");
    // The document of a file whose text is gone is removed.
    let ran = scratch.ok("mirror i d --pdf-command true");
    ran.says(&["1 removed", "no text layer"]);
    let no_text = "skipped d/a.pdf: no text layer (scanned pages, it seems: an OCR program such as";
    scratch.write_old(&[("d/b.pdf", "%PDF-1.7\n")]);
    scratch.ok("mirror i d --pdf-command true").says(&["2 no text layer"]);
    scratch.ok("add j d --pdf-command true").says(&[no_text]);
}
