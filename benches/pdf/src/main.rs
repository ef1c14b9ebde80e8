//! Prints the text of a PDF, extracted by the parser that this binary was built with: see
//! README.md.

use std::process::ExitCode;

type Read = Result<String, Box<dyn std::error::Error>>;

#[cfg(feature = "extract")]
fn text(bytes: Vec<u8>) -> Read {
    Ok(pdf_extract::extract_text_from_mem(&bytes)?)
}

#[cfg(feature = "oxide")]
fn text(bytes: Vec<u8>) -> Read {
    Ok(pdf_oxide::PdfDocument::from_bytes(bytes)?.extract_all_text()?)
}

#[cfg(feature = "oxidize")]
fn text(bytes: Vec<u8>) -> Read {
    use oxidize_pdf::parser::{PdfDocument, PdfReader};
    let document = PdfDocument::new(PdfReader::new(std::io::Cursor::new(bytes))?);
    let pages = document.extract_text()?;
    Ok(pages.into_iter().map(|page| page.text).collect::<Vec<_>>().join("\n"))
}

#[cfg(feature = "inspector")]
fn text(bytes: Vec<u8>) -> Read {
    Ok(pdf_inspector::extractor::extract_text_mem(&bytes)?)
}

fn main() -> ExitCode {
    let read = std::env::args_os().nth(1).ok_or("usage: pdf-readers FILE".into());
    let read: Read = read.and_then(|path| text(std::fs::read(path)?));
    match read {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
