//! `Debug` of every public type prints at most two lines, whatever the content, and never the seed.

use crate::support::{Scratch, inline};
use nearkin::passages::{PassageCutter, PassageIndex};
use nearkin::*;
use std::collections::BTreeMap;

const SEED: u64 = 0x5EED_0FA1_1C0D_E5A7;
const LENGTH_MAX: usize = 640;

/// The `Debug` output of each public type, by name.
struct Printed(BTreeMap<&'static str, String>);

impl Printed {
    fn add(&mut self, name: &'static str, what: &dyn std::fmt::Debug) {
        self.0.insert(name, format!("{what:?}"));
    }
}

fn params() -> Params {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Words(1)).seed(SEED);
    builder.stop_words((0..1_000).map(|at| format!("word{at}"))).build().unwrap()
}

fn signature(sketcher: &Sketcher) -> Signature {
    sketcher.text("the quick brown fox jumps over the lazy dog").unwrap()
}

fn handles(printed: &mut Printed, scratch: &Scratch) {
    let index = Index::create(scratch.dir(), &params(), inline()).unwrap();
    let sketcher = index.sketcher();
    let (signature, payload) = (signature(&sketcher), vec![7; 60_000]);
    let mut batch = Batch::new().insert_with_payload("p0", &signature, &payload);
    for at in 1..5_000_u64 {
        batch = batch.insert(at, &signature);
    }
    printed.add("Batch", &batch);
    printed.add("Written", &index.write(Batch::new().insert("p1", &signature)).unwrap());
    index.write(batch).unwrap();
    let snapshot = index.snapshot();
    printed.add("Index", &index);
    printed.add("Snapshot", &snapshot);
    let reader = Reader::open(scratch.dir(), inline()).unwrap();
    printed.add("Freshness", &reader.freshness());
    printed.add("Reader", &reader);
    printed.add("Options", &Options::default());
    printed.add("Variety", &sketcher.text_with_variety("one two one two").unwrap().1);
    printed.add("Stats", &index.stats().unwrap());
    printed.add("Recovery", &index.stats().unwrap().recovery);
    printed.add("Verification", &index.verify().unwrap());
    printed.add("Comparisons", &index.snapshot().sample_comparisons().unwrap());
    printed.add("Maintained", &index.maintain().unwrap());
    printed.add("Imported", &Imported::default());
    let keys: Vec<u64> = (1..5_000).collect();
    let query = snapshot.query_keys(keys).filter(|_, _| true).deadline(std::time::Instant::now());
    printed.add("Query", &query.limit(3).threshold(0.7).max_candidates(9).cancel_if(|| false));
    let conditions = Conditions::default().prefix(&payload).after(1).before(9).filter(|_, _| true);
    printed.add("Conditions", &conditions.deadline(std::time::Instant::now()).limit(3));
    for setting in Conditions::SETTINGS {
        printed.add("ConditionSetting", &setting);
        printed.add("SettingValue", &setting.value);
    }
    let signatures = vec![signature.clone(); 500];
    printed.add("Queries", &snapshot.queries(&signatures).limit(3));
    let answer = index.query(&signature).limit(1).run().unwrap();
    printed.add("Answer", &answer);
    let view = std::sync::Mutex::new(String::new());
    let look = |seen: nearkin::DocumentView<'_>| {
        *view.lock().unwrap() = format!("{seen:?}");
        true
    };
    index.query(&signature).filter_document(look).run().unwrap();
    printed.0.insert("DocumentView", view.into_inner().unwrap());
    let document = index.get("p0").unwrap().unwrap();
    let matches = index.query(&signature).run().unwrap().matches;
    printed.add("Match", matches.iter().find(|found| found.key == b"p0").unwrap());
    printed.add("Document", &document);
    printed.add("Documents", &snapshot.iter());
    printed.add("Keys", &snapshot.keys().unwrap());
    printed.add("Key", &Key::from(&payload));
    printed.add("Pairs", &snapshot.pairs(0.5).unwrap());
    printed.add("CollapsedPairs", &snapshot.pairs(0.5).unwrap().collapse().unwrap());
    printed.add("Clusters", &index.clusters(0.5).unwrap());
    printed.add("Collapsed", &snapshot.pairs(0.5).unwrap().collapse().unwrap().next().unwrap());
    printed.add("Pair", &matches[0].clone().pair_with("another"));
    let newcomer = Newcomer::new("p0", &signature).payload(&payload);
    printed.add("Newcomer", &newcomer);
    printed.add("Edit", &Edit::insert("p0", &signature).payload(&payload));
    let terms = Admit::at(0.9).limit(1);
    let admission = index.admit("p2", &signature, &terms).unwrap();
    printed.add("Admit", &terms);
    let mut fetch = |_: &[u8]| Ok(None);
    printed.add("VerifiedAdmit", &terms.verify(&mut fetch));
    printed.add("Decision", &admission.decision);
    printed.add("Admission", &admission);
    let rescued = scratch.dir().with_file_name("rescued");
    drop(index);
    let salvaged = Index::salvage(scratch.dir(), rescued, None, inline()).unwrap();
    printed.add("Salvaged", &salvaged);
}

fn events(printed: &mut Printed, scratch: &Scratch) {
    let signature = signature(&Sketcher::new(&params()));
    let heard = std::sync::Arc::new(std::sync::Mutex::new(None));
    let event_slot = std::sync::Arc::clone(&heard);
    let listening =
        inline().on_event(move |event| *event_slot.lock().unwrap() = Some(event.clone()));
    let small = Index::create(scratch.path("few"), &params(), listening).unwrap();
    small.write(Batch::new().insert("a", &signature).insert("b", &signature)).unwrap();
    small.flush().unwrap();
    printed.add("Event", heard.lock().unwrap().as_ref().unwrap());
    let cluster = small.clusters(0.5).unwrap().next().unwrap().unwrap();
    printed.add("Margin", &Margin::default());
    printed.add("SimilarityText", &SimilarityText::Estimate(1.0));
    printed.add("Link", &small.snapshot().links(&cluster, 0.5).unwrap()[0]);
    printed.add("Cluster", &cluster);
    let mut progress = None;
    let watch = &mut |step| {
        progress = Some(step);
        std::ops::ControlFlow::Continue(())
    };
    small.verify_with(watch).unwrap();
    printed.add("Progress", &progress.unwrap());
}

fn plain(printed: &mut Printed) {
    let params = params();
    let sketcher = Sketcher::new(&params);
    let words = Sketcher::new(&Params::builder().build().unwrap());
    let long = words.detailed_text(&"many words ".repeat(1_000)).unwrap();
    printed.add("Details", long.details().unwrap());
    printed.add("Difference", &words.difference("one text", "two texts"));
    printed.add("Guard", &Guard::Rare);
    printed.add("Apart", &Apart::Numbers);
    printed.add("Judgement", &Judgement::Unlike);
    let mut suspects = Suspects::default();
    (0..1_000).for_each(|rank| suspects.add(rank, None, 9));
    printed.add("Suspects", &suspects);
    printed.add("Judge", &Judge::new(Guard::Rare, 0.7, suspects));
    printed.add("Params", &params);
    let builder = Params::for_threshold(0.5).stop_words((0..1_000).map(|at| format!("word{at}")));
    printed.add("ParamsBuilder", &builder.seed(SEED));
    printed.add("Sketcher", &sketcher);
    printed.add("Signature", &signature(&sketcher));
    let text: Vec<String> = (0..900).map(|at| format!("w{at}")).collect();
    printed.add("Original", &sketcher.original_text(&text.join(" ")).unwrap());
    printed.add("Scheme", &Scheme::external("made-elsewhere").unwrap());
    let Scheme::External(maker) = Scheme::external("made-elsewhere").unwrap() else { panic!() };
    printed.add("SchemeName", &maker);
    printed.add("Shingles", &Shingles::Words(3));
    printed.add("Normalise", &Normalise::FOLD);
    printed.add("FoldOptions", &FoldOptions::default().turkish(true));
    let common = Common::from_hashes(0..1_000).unwrap();
    printed.add("Common", &common);
    let mut learner = CommonLearner::new(&params).unwrap();
    for n in 0..50 {
        learner.add_text(&format!("{n} of a kind")).unwrap();
    }
    printed.add("CommonLearner", &learner);
    printed.add("CommonShingle", &learner.shingles(0.5).unwrap()[0]);
    printed.add("TextShingles", &sketcher.text_shingles(&text.join(" ")).unwrap());
    printed.add("Preset", &Preset::Archive);
    printed.add("Alike", &Alike::contained(0.8));
    printed.add("Containment", &params.containment(64, 200, 400).unwrap());
    printed.add("Item", &Item::from(&text.join(" ")));
    printed.add("ItemHash", &sketcher.hash_item("an item"));
    printed.add("Exact", &Exact::Similarity(0.5));
    let overlap = Overlap::of(2, 3, 4);
    printed.add("Overlap", &overlap);
    printed.add("Keep", &Keep::Longest);
    printed.add("Outcome", &Outcome::Superseded);
    printed.add("Durability", &Durability::Sync);
    printed.add("Maintenance", &Maintenance::Inline);
    printed.add("ReadMode", &ReadMode::Mmap);
    printed.add("Error", &Error::other("of the caller"));
    printed.add("ErrorKind", &ErrorKind::NoSuchKey);
    printed.add("Result", &Result::<()>::Ok(()));
}

fn decisions(printed: &mut Printed, scratch: &Scratch) {
    let alike = Alike::similar(0.7).for_verification();
    let params = Dedup::params(&params(), alike).unwrap();
    let kept = Index::create(scratch.dir(), &params, inline()).unwrap();
    let copy = |_| kept.sketcher().original_text("the quick brown fox").unwrap();
    let mut dedup = Dedup::new(&kept, 0.7).unwrap();
    let copies = (0..2).map(|rank| (rank, copy(rank))).collect();
    let fetch = &mut |rank: u64| Ok(Some(copy(rank)));
    let decided = dedup.decide_exactly(copies, fetch).unwrap();
    printed.add("Dedup", &dedup);
    printed.add("Duplicate", decided[1].as_ref().unwrap());
    printed.add("Evidence", &decided[1].unwrap().evidence);
    printed.add("LookedUp", &dedup.look_up(&[copy(0).signature().clone()]).unwrap()[0]);
    let against = Against::new(&kept.snapshot(), 0.7).unwrap();
    printed.add("Against", &against);
    let folder = tempfile::tempdir().unwrap();
    let mut audit = Audit::new(folder.path().join("a"), kept.params(), 0.7, Guard::None).unwrap();
    audit.add_removed(&[copy(0).signature().clone()]).unwrap();
    printed.add("Audit", &audit);
    printed.add("AuditRow", &AuditRow::Kept(0));
    let fetch = &mut |rows: &[AuditRow]| Ok(rows.iter().map(|_| copy(0)).collect());
    let audited = &mut |one| {
        printed.add("Audited", &one);
        Ok(())
    };
    let counts = audit.run(fetch, audited).unwrap();
    printed.add("AuditCounts", &counts);
    let fetch = &mut |_: &[u8]| Ok(Some(copy(0)));
    printed.add("Verified", &against.find_exactly(&copy(0), fetch).unwrap());
}

fn questions(printed: &mut Printed) {
    let sketcher = Sketcher::new(&params());
    let text: Vec<String> = (0..2_000).map(|at| format!("w{}", at % 1_000)).collect();
    let text = text.join(" ");
    let rule = ContainsQuestion::default();
    printed.add("ContainsQuestion", &rule);
    let mut builder = QuestionsBuilder::new(&sketcher, rule).unwrap();
    builder.add(&text).unwrap();
    printed.add("QuestionsBuilder", &builder);
    let questions = builder.build();
    printed.add("Questions", &questions);
    printed.add("QuestionFound", &questions.find(&text).unwrap());
    let filter = RepeatFilter::new(&sketcher, 20, 1 << 16).unwrap();
    filter.add(&text);
    filter.add(&text);
    printed.add("RepeatFilter", &filter);
    let (cut, mut repeats) = (filter.cut(&text), Repeats::new(1 << 20));
    printed.add("CutText", &cut);
    let found = repeats.find(0, &cut).unwrap();
    printed.add("Repeats", &repeats);
    printed.add("Repeated", &found[0]);
}

fn passages(printed: &mut Printed, scratch: &Scratch) {
    let windows: Windows = "20:10".parse().unwrap();
    let builder = Params::for_threshold(0.5).shingles(Shingles::Words(1)).passages(windows);
    let params = builder.seed(SEED).build().unwrap();
    let index = PassageIndex::create(scratch.dir(), &params, inline()).unwrap();
    let text: Vec<String> = (0..5_000).map(|at| format!("w{at}")).collect();
    let text = text.join(" ");
    let cutter = PassageCutter::new(&params).unwrap();
    printed.add("Windows", &windows);
    printed.add("Prepared", &cutter.prepare("a", &text, Some(&[7; 9_000])).unwrap());
    printed.add("PassageCutter", &cutter);
    index.insert("a", &text).unwrap();
    let view = index.view();
    printed.add("PassageIndex", &index);
    printed.add("PassageView", &view);
    printed.add("PassageQuery", &view.query(&text));
    let answer = view.query(&text[..100]).run().unwrap();
    printed.add("PassageAnswer", &answer);
    printed.add("Contained", &answer.texts[0]);
    printed.add("PassageMatch", &answer.texts[0].passages[0]);
    let quotes = Params::preset(Preset::Quotes).build().unwrap();
    let index = PassageIndex::create(scratch.path("quotes"), &quotes, inline()).unwrap();
    index.write(&["a", "b"].map(|key| index.cutter().prepare(key, &text, None).unwrap())).unwrap();
    let counted = index.view().counted_pairs(&Conditions::default()).unwrap();
    printed.add("PassagePair", &counted.pairs[0]);
    printed.add("CountedPairs", &counted);
}

#[test]
fn every_public_type_is_printed_briefly_without_the_seed() {
    let mut printed = Printed(BTreeMap::new());
    plain(&mut printed);
    handles(&mut printed, &Scratch::new());
    events(&mut printed, &Scratch::new());
    decisions(&mut printed, &Scratch::new());
    passages(&mut printed, &Scratch::new());
    questions(&mut printed);
    let is_secret = |text: &str| {
        let text = text.to_lowercase();
        text.contains(&SEED.to_string()) || text.contains(&format!("{SEED:x}"))
    };
    for (name, text) in &printed.0 {
        assert!(text.len() <= LENGTH_MAX, "{name} takes {} bytes: {text:.300}", text.len());
        assert!(!is_secret(text), "{name} tells the seed: {text}");
        assert!(!text.is_empty(), "{name} says nothing");
    }
    // Every public type except closures must be in the list.
    let root = include_str!("../../src/lib.rs");
    let exports = root.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = exports.flat_map(|export| export.split(|c: char| !c.is_alphanumeric()));
    let types = names.filter(|name| name.starts_with(char::is_uppercase));
    let missing: Vec<&str> =
        types.filter(|name| !name.starts_with("Fetch") && !printed.0.contains_key(name)).collect();
    assert!(missing.is_empty(), "not printed: {missing:?}");
}
