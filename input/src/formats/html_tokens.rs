//! Extracts the text of a large HTML page from its tokens. A tree would take fifty times the memory
//! of the page.

use std::cell::{Cell, RefCell};

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::inline::INLINE;

/// Number of bytes tokenized at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Elements whose content is not displayed.
const UNSEEN: [&str; 5] = ["script", "style", "title", "template", "noframes"];

/// The text of a page.
pub(super) fn text(page: &str) -> String {
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = page;
    while !rest.is_empty() {
        let mut end = PIECE_BYTES.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        queue.push_back(StrTendril::from_slice(piece));
        // The tokenizer pauses after each script, so that browsers can run it.
        while let TokenizerResult::Script(()) = tokenizer.feed(&queue) {}
        rest = after;
    }
    tokenizer.end();
    tokenizer.sink.text.into_inner()
}

#[derive(Default)]
struct Sink {
    text: RefCell<String>,
    /// The element being skipped because its content is not displayed.
    unseen: Cell<Option<&'static str>>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => self.tag(&tag),
            Token::CharacterTokens(text) if self.unseen.get().is_none() => {
                self.text.borrow_mut().push_str(&text);
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

impl Sink {
    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        if let Some(unseen) = self.unseen.get() {
            if tag.kind == TagKind::EndTag && name == unseen {
                self.unseen.set(None);
            }
            return TokenSinkResult::Continue;
        }
        if !INLINE.contains(&name) {
            self.text.borrow_mut().push('\n');
        }
        if tag.kind == TagKind::EndTag {
            return TokenSinkResult::Continue;
        }
        self.unseen.set(UNSEEN.into_iter().find(|unseen| *unseen == name));
        if name == "img"
            && let Some(alt) = tag.attrs.iter().find(|attribute| &*attribute.name.local == "alt")
        {
            self.text.borrow_mut().push_str(&alt.value);
        }
        match name {
            "script" => TokenSinkResult::RawData(ScriptData),
            "style" | "noframes" | "iframe" | "xmp" => TokenSinkResult::RawData(Rawtext),
            "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    fn words(page: &str) -> String {
        text(page).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tokens_give_what_a_person_sees() {
        let page = "<!DOCTYPE html><title>T &lt;b></title><style>x{}</style>\
            <script>if (a<b) y('</p>')</script><script>z</script><p>One <b>t</b>wo <!-- no --> \
            <a href='http://e.example/'>three</a><table><tr><td>four<td>five</table>\
            <template>no</template>&amp; s&#105;x <img alt='a picture'> <br>end &lt;p&gt;";
        assert_eq!(words(page), "One two three four five & six a picture end <p>");
        assert_eq!(words("<p>a<script>never ended"), "a");
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let page = "<p class='x'>\u{e4}\u{20ac} &auml;<b>c</b></p>".repeat(8_000);
        assert_eq!(words(&page), "\u{e4}\u{20ac} \u{e4}c ".repeat(8_000).trim_end());
    }
}
