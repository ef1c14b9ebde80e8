//! Tests of what belongs to a message: quotations of many programs and languages, signatures,
//! footers.

use super::parts::text as read;
use super::{html_body, quoted};

const SAMPLES: &str = include_str!("samples.txt");

/// A sample of `samples.txt`: its language and program, its kind, its lines.
fn samples() -> Vec<(String, String, String)> {
    let mut samples: Vec<(String, String, String)> = Vec::new();
    for line in SAMPLES.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("= ") {
            let (name, kind) = head.rsplit_once(' ').unwrap_or((head, ""));
            samples.push((name.to_owned(), kind.to_owned(), String::new()));
        } else if let Some((_, _, text)) = samples.last_mut() {
            *text += line;
            *text += "\n";
        }
    }
    samples
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn own(text: &str) -> String {
    words(&quoted::own_text(vec![text.to_owned()]))
}

fn own_of_html(html: &str) -> String {
    own(&html_body::text(html))
}

#[test]
fn quotations_are_found_in_all_languages() {
    let samples = samples();
    let languages: std::collections::BTreeSet<_> =
        samples.iter().map(|(name, ..)| name.split(' ').next()).collect();
    assert!(languages.len() >= 30 && samples.len() >= 80, "{languages:?}");
    for (name, kind, above) in &samples {
        let marked =
            format!("Yes, at six.\n\n{above}\n> Shall we meet?\n>> No.\n\nAnd bring tea.\n");
        assert_eq!(own(&marked), "Yes, at six. And bring tea.", "{name}: {above}");
        let tight = format!("Yes, at six.\n{above}> Shall we meet?");
        if !above.contains("\n\n") {
            assert_eq!(own(&tight), "Yes, at six.", "{name}: {above}");
        }
        let unmarked = format!("Yes, at six.\n\n{above}\nShall we meet?\n\nOr not?\n");
        if kind == "marked" {
            assert!(own(&unmarked).ends_with("Shall we meet? Or not?"), "{name}: {above}");
        } else {
            assert_eq!(own(&unmarked), "Yes, at six.", "{name}: {above}");
            // Nothing else is there: the message is the quoted one.
            let forwarded = format!("\n-- \nJane\n\n{above}\nShall we meet?\n\n-- \nJohn\n");
            assert_eq!(own(&forwarded), "Shall we meet?", "{name}: {above}");
        }
        let windows = unmarked.replace('\n', "\r\n");
        assert_eq!(own(&windows), own(&unmarked), "{name}: {above}");
    }
}

#[test]
fn what_only_looks_like_a_quotation_stays() {
    for text in [
        "I agree with this:\n\nwe meet at six.",
        "She wrote:\n\nnothing at all.",
        "From: London\nTo: Paris\nDate: 5 May\nPrice: 20",
        "Subject: bees\n\nThe from: and to: of it.",
        "a -> b\nx<y>z\nsql> select 1",
        "Sign here:\n______________________________\nand send it back",
        "one\n--\ntwo\n\n--- three ---\n-----\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13",
        "one\n>From here on it is mine\ntwo",
        "On 5 May 2020 we met at 10:00.\nIt rained.",
        "The original message was lost.\nOriginal Message",
    ] {
        assert_eq!(own(text), words(text));
    }
}

#[test]
fn quoted_lines_signatures_and_footers_are_left_out() {
    assert_eq!(own("One\n> a\n>b\n> > c\nTwo\nJD> d\n JD> e\nAnn> f\n> g"), "One Two");
    assert_eq!(own("One\n>From a\n> b"), "One");
    assert_eq!(own("One\n>From a\n>From b"), "One >From a >From b");
    assert_eq!(own("What I want:\n> b"), "What I want:");
    assert_eq!(own("I wrotex:\n> b"), "I wrotex:");
    assert_eq!(own("I rewrote:\n> b"), "I rewrote:");
    for begin in ["-- ", "--", "- -- ", "--\u{a0}"] {
        assert_eq!(own(&format!("One\n{begin}\nAnn\nOffice")), "One");
        assert_eq!(own(&format!("One\n{begin}\nAnn\nOffice\n\nOn Mon, Ann wrote:\n> b")), "One");
    }
    let footer = "_______________________________________________\nteam mailing list\n\
        team@lists.example\nhttps://lists.example/team\n";
    assert_eq!(own(&format!("One\n\n{footer}")), "One");
    assert_eq!(own(&format!("One\n-- \nAnn\n{footer}")), "One");
    assert_eq!(own(&format!("One\n> b\n{footer}")), "One");
    // The part of a message that a list appends.
    let parts = vec!["One\n-- \nAnn".to_owned(), "Two".to_owned(), footer.to_owned()];
    assert_eq!(words(&quoted::own_text(parts)), "One Two");
}

#[test]
fn a_message_without_words_of_its_own_is_what_it_quotes() {
    let answer =
        "On Mon, Ann wrote:\n> Yes.\n> \n> On Sun, 1 Jan 2024 10:00, Bob wrote:\n> > Tea?\n";
    assert_eq!(own(answer), "Yes.");
    assert_eq!(own("> > Tea?"), "Tea?");
    assert_eq!(own("\n...\n\n> Tea?\n-- \nAnn"), "Tea?");
    assert_eq!(own("-- \nAnn\nOffice"), "-- Ann Office");
    assert_eq!(own("> -- \n> Ann"), "-- Ann");
    assert_eq!(own(&("> ".repeat(1_000) + "deep")).rsplit(' ').next(), Some("deep"));
    assert_eq!(own(""), "");
}

#[test]
fn html_parts_of_common_programs_lose_their_quotations() {
    let gmail = "<div dir=\"ltr\">Yes, at six.<div>And bring tea.</div></div><br>\
        <div class=\"gmail_quote\"><div dir=\"ltr\" class=\"gmail_attr\">On Mon, Jan 1, 2024 at \
        10:00 AM Jane &lt;<a href=\"mailto:j@example.org\">j@example.org</a>&gt; wrote:<br></div>\
        <blockquote class=\"gmail_quote\" style=\"margin:0 0 0 .8ex\">Shall we meet?<div>\
        <blockquote type=\"cite\">No</blockquote></div></blockquote></div>";
    assert_eq!(own_of_html(gmail), "Yes, at six. And bring tea.");
    let between = "<div class=\"gmail_quote\"><div class=\"gmail_attr\">Jane wrote:<br></div>\
        <blockquote class=\"gmail_quote\">Tea?</blockquote><div>Yes.</div>\
        <blockquote class=\"gmail_quote\">Now?</blockquote><div>No.</div></div>";
    assert_eq!(own_of_html(&format!("<p>Top.</p>{between}")), "Top. Yes. No.");
    let other = "<p>Foo</p><div class=\"gmail_quote\">Xyz<br>Hi</div>";
    assert_eq!(own_of_html(other), "Foo");
    let forward = "<div dir=\"ltr\">See below</div>\
        <div class=\"gmail_quote gmail_quote_container\">\
        <div class=\"gmail_attr\">---------- Forwarded message ---------<br>From: <b>Jane</b> \
        &lt;j@example.org&gt;<br>Date: Mon, Jan 1, 2024<br>Subject: Plan<br>To: x<br></div><br>\
        <div>Shall we meet? <blockquote type=cite>or not</blockquote></div></div>";
    assert_eq!(own_of_html(forward), "See below");
    assert_eq!(own_of_html(&forward.replace("See below", "")), "Shall we meet?");
    let apple = "<html><head><style>p{}</style></head><body>Foo<div><br></div><div>Bar</div><div>\
        <blockquote type=\"cite\"><div>On 2016-03-25, at 23:01, Jane &lt;j@example.org&gt; wrote:\
        </div><br><div>Some <b>important</b> mail</div></blockquote></div><br></body></html>";
    assert_eq!(own_of_html(apple), "Foo Bar");
    let thunderbird = "<p>Foo</p><div class=\"moz-cite-prefix\">Am 01.01.2024 um 10:00 schrieb \
        Jane:<br></div><blockquote type=\"cite\" cite=\"mid:x@y\"><pre>a\nb</pre></blockquote>\
        <pre class=\"moz-signature\" cols=\"72\">-- \nAnn\n</pre>";
    assert_eq!(own_of_html(thunderbird), "Foo");
    let outlook = "<div class=WordSection1><p class=MsoNormal>Foo<o:p></o:p></p><div><div \
        style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in'><p \
        class=MsoNormal><b>XYZ:</b> Jane<br><b>Sent:</b> Monday<o:p></o:p></p></div></div><p \
        class=MsoNormal>Hi <o:p></o:p></p></div>";
    assert_eq!(own_of_html(outlook), "Foo");
    let block = "<p>Foo</p><div><p><b>Von:</b> Jana<br><b>Gesendet:</b> Montag, 1. Januar<br>\
        <b>An:</b> Hans<br><b>Betreff:</b> Plan</p></div><p>Hallo</p>";
    assert_eq!(own_of_html(block), "Foo");
    let web = "<div>Foo</div><div id=\"appendonsend\"></div><hr style=\"width:98%\"><div \
        id=\"divRplyFwdMsg\" dir=\"ltr\"><b>Afz:</b> Jane<br></div><div>Hi</div>";
    assert_eq!(own_of_html(web), "Foo");
    assert_eq!(own_of_html(&web.replace(" id=\"appendonsend\"", "")), "Foo");
    assert_eq!(own_of_html(&web.replace(" id=\"divRplyFwdMsg\"", "")), "Foo");
    let yahoo = "<div>Foo</div><div id=\"ydp9b1yahoo_quoted_58\" class=\"ydp9b1yahoo_quoted\"><div>\
        <div>Xyz</div><div>Hi Dan,<br></div></div></div>";
    assert_eq!(own_of_html(yahoo), "Foo");
    assert_eq!(own_of_html(&yahoo.replace(" id=", " name=")), "Foo");
    let unescaped = "<p>Foo</p><div>Hola <jane@example.org>, 1/1/2024 10:00 -:</div>\
        <blockquote style=\"border-left:2px solid\">Hi</blockquote>";
    assert_eq!(own_of_html(unescaped), "Foo");
    let signature = "Foo<br><div id=\"Signature\">Ann</div><div>Bar</div>";
    assert_eq!(own_of_html(signature), "Foo Bar");
    assert_eq!(own_of_html("Foo<br><span class=gmail_signature></span>Bar"), "Foo Bar");
    let both = "Foo<div class=gmail_signature><blockquote type=cite>a</blockquote>b</div>Bar";
    assert_eq!(own_of_html(both), "Foo Bar");
    let moved =
        "<blockquote>A saying</blockquote><p title='a>b'>a<b>c</b> &lt; d < e</p><div>f</div>g";
    assert_eq!(own_of_html(moved), "A saying ac < d < e f g");
    assert_eq!(own_of_html("a<script>x('</p>')</script><!-- <p> -->b<style>c"), "a b");
}

#[test]
fn deep_html_is_read_in_little_time() {
    let deep = "<div>".repeat(200_000) + "a" + &"</p>".repeat(200_000) + "<p>b";
    assert_eq!(own_of_html(&deep), "a b");
    let quoted = "<div>".repeat(2_000) + "a" + &"</div>".repeat(2_000);
    assert_eq!(own_of_html(&format!("{quoted}<blockquote type=cite>c</blockquote>b")), "a b");
}

#[test]
fn a_thunderbird_forward_is_the_forwarded_message() {
    let row = |name: &str, value: &str| {
        format!("<tr>\n <th align=\"RIGHT\">{name}: </th>\n <td>{value}</td>\n </tr>\n ")
    };
    let rows = row("Subject", "Plan") + &row("Date", "Tue, 3 May 2016") + &row("From", "Jane");
    let html = format!(
        "<body><p><br>\n</p><div class=\"moz-forward-container\"><br>\n<br>\n-------- Forwarded \
         Message --------\n<table class=\"moz-email-headers-table\">\n<tbody>\n{rows}{}</tbody>\n\
         </table>\n<br>\n<br>\n<div>Dear John,</div>\n<div>This is a test.</div></div></body>",
        row("To", "John")
    );
    assert_eq!(own_of_html(&html), "Dear John, This is a test.");
}

#[test]
fn short_messages_are_told_apart_by_their_identifiers() {
    let mail = |body: &str| {
        let mail = format!("From: a@b\nSubject: Re: s\nMessage-ID: <one@two>\n\n{body}\n> q\n");
        let text = |keeps| words(&read(mail.as_bytes(), keeps).unwrap().text);
        (text(false), text(true))
    };
    assert_eq!(mail("OK."), ("Re: s OK. one@two".to_owned(), "Re: s OK. > q".to_owned()));
    let long = "word ".repeat(15) + "word";
    assert_eq!(mail(&long), (format!("Re: s {long}"), format!("Re: s {long} > q")));
    let fifteen = "word ".repeat(15);
    assert_eq!(mail(&fifteen).0, format!("Re: s {fifteen}one@two"));
    let html = "From: a@b\nSubject: s\nContent-Type: text/html\n\n<div>a</div><div>b</div>\
        <blockquote type=cite>c</blockquote>";
    assert_eq!(words(&read(html.as_bytes(), true).unwrap().text), "s a b c");
    assert!(!read(html.as_bytes(), true).unwrap().text.contains(quoted::QUOTE));
}

/// Random numbers; the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % count
    }
}

/// Messages of random pieces: words of the author, and everything around them. `NEARKIN_SEED`
/// repeats one.
#[test]
fn of_random_messages_the_words_of_the_author_are_left() {
    let seed = std::env::var("NEARKIN_SEED").ok().and_then(|seed| seed.parse().ok());
    let samples = samples();
    for seed in seed.map_or(0..2_000, |seed| seed..seed + 1) {
        println!("NEARKIN_SEED={seed}");
        let mut random = Random(seed);
        let (mut pieces, mut expected) = (Vec::new(), Vec::new());
        for piece in 0..=random.below(6) {
            let word = format!("own{piece}");
            pieces.push(format!("{word} word.\n\n"));
            expected.push(format!("{word} word."));
            let (_, _, above) = &samples[random.below(samples.len())];
            match random.below(4) {
                0 => pieces.push(format!("{above}\n> quoted\n>> deeper\n> \n\n")),
                1 => pieces.push("> quoted\n>> deeper\n\n".to_owned()),
                2 => pieces.push("JD> quoted\nJD> more\n".to_owned()),
                _ => {}
            }
        }
        let (_, kind, above) = &samples[random.below(samples.len())];
        match random.below(4) {
            0 if kind != "marked" => pieces.push(format!("{above}\nquoted\n\nmore\n")),
            1 => pieces.push(format!("-- \nAnn\n\n{above}\n> quoted\n")),
            2 => pieces.push("_____________________\nlist@lists.example\n".to_owned()),
            _ => {}
        }
        let text = pieces.concat();
        assert_eq!(own(&text), expected.join(" "), "seed {seed}:\n{text}");
    }
}

/// Whatever the bytes are, reading a message ends, without a panic.
#[test]
fn random_bytes_of_html_and_text_do_no_harm() {
    const PIECES: [&str; 24] = [
        "<div class=gmail_quote>",
        "</div>",
        "<blockquote type=cite>",
        "</blockquote>",
        "<pre>",
        "</pre>",
        "<hr id=stopSpelling>",
        "<span class=gmail_signature>",
        "</span>",
        "<!--",
        "-->",
        "<",
        ">",
        "\"",
        "<a b='",
        "\u{fdd0}",
        "\u{fdd1}",
        "\u{fdd2}",
        "\n",
        "-- \n",
        "> ",
        "From: ",
        "a\u{e9}\u{4eba}",
        "&lt;",
    ];
    for seed in 0..3_000 {
        let mut random = Random(seed);
        let html: String =
            (0..random.below(40)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let text = html_body::text(&html);
        let _ = quoted::own_text(vec![text, html]);
    }
}
