//! The queries of the bench: each runs on a snapshot and on the model, and the answers must be
//! equal.

use super::bench::Bench;
use super::model::{Doc, Least, Like, Model, signed};
use super::script::{Ask, Op, Rng};
use super::shown::Shown;
use crate::{
    Admit, Answer, Batch, Cluster, Collapsed, Conditions, Document, ErrorKind, Query, Result,
    Signature, Snapshot,
};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

impl Bench {
    pub(super) fn read(&mut self, op: &Op, snapshot: &Snapshot, model: &Model) -> Result<()> {
        match op {
            Op::Query { lanes, ask } => {
                let signature = self.signature(lanes);
                let least = self.law.least_of(ask.rows);
                let expected = model.query(&self.law, signed(&signature), least, None);
                self.ask(snapshot.query(&signature), model, &expected, *ask)?;
                self.ask_together(snapshot, model, lanes, *ask)?;
            }
            Op::QueryKey { key, ask } => match model.get(key) {
                Some(doc) => {
                    let least = self.law.least_of(ask.rows);
                    let expected = model.query(&self.law, doc.signed(), least, Some(key));
                    self.ask(snapshot.query_key(key), model, &expected, *ask)?;
                }
                None => refused(snapshot.query_key(key).run(), ErrorKind::NoSuchKey)?,
            },
            Op::QueryKeys { keys, ask } => {
                match model.query_keys(&self.law, keys, self.law.least_of(ask.rows)) {
                    Some(expected) => {
                        self.ask(snapshot.query_keys(keys), model, &expected, *ask)?;
                    }
                    None => refused(snapshot.query_keys(keys).run(), ErrorKind::NoSuchKey)?,
                }
            }
            Op::Get(key) => {
                let found = snapshot.get(key)?;
                assert_eq!(found.map(|found| stored(key, found)), model.get(key).cloned());
            }
            Op::Contains(key) => {
                assert_eq!(snapshot.contains(key)?, model.get(key).is_some());
            }
            Op::Iter => check_all(snapshot, model)?,
            Op::Pairs { rows } => {
                let least = self.law.least_of(*rows);
                let expected = model.pairs(&self.law, least);
                let pairs = snapshot.pairs(least.alike())?.collect::<Result<Vec<_>>>()?;
                assert_eq!(pairs.len(), expected.len(), "each pair once");
                for pair in &pairs {
                    let similarity = self.law.estimate(pair.equal_rows).max(0.0);
                    assert!((pair.similarity - similarity).abs() < 1e-12, "{pair:?}");
                }
                let found: BTreeSet<_> =
                    pairs.into_iter().map(|pair| (pair.a, pair.b, pair.equal_rows)).collect();
                assert_eq!(found, expected);
                self.note(|| format!("{found:?}"));
                let collapsed = snapshot.pairs(least.alike())?.collapse()?;
                let collapsed = collapsed.collect::<Result<Vec<_>>>()?;
                check_collapsed(&collapsed, model, &expected, (self.law.hashes, least));
                self.ask_for_shown_pairs(snapshot, model, least)?;
            }
            Op::Clusters { rows } => self.ask_for_clusters(snapshot, model, *rows)?,
            Op::Refused(which) => self.refuse(*which)?,
            _ => unreachable!("{op:?} is no question"),
        }
        Ok(())
    }

    fn ask_for_clusters(&mut self, snapshot: &Snapshot, model: &Model, rows: u32) -> Result<()> {
        let least = self.law.least_of(rows);
        let clusters =
            snapshot.clusters_with(least.alike(), &mut |_| std::ops::ControlFlow::Continue(()))?;
        let clusters = clusters.collect::<Result<Vec<_>>>()?;
        let count = clusters.len();
        for cluster @ Cluster { keys, times } in &clusters {
            let found = (cluster.size(), cluster.representative());
            assert_eq!(found, (keys.len() as u64, &keys[0][..]));
            let time = |key: &Vec<u8>| model.get(key).map(|doc| doc.time);
            assert!(keys.iter().map(time).eq(times.iter().map(|time| Some(*time))));
        }
        let found: BTreeSet<_> = clusters.into_iter().map(|cluster| cluster.keys).collect();
        assert_eq!(count, found.len(), "each cluster once");
        assert_eq!(found, model.clusters(&self.law, least));
        self.note(|| format!("{found:?}"));
        self.ask_for_shown_clusters(snapshot, model, least)
    }

    fn ask(&mut self, query: Query<'_>, model: &Model, expected: &[Like], ask: Ask) -> Result<()> {
        let query = query.alike(self.law.least_of(ask.rows).alike()).limit(ask.limit);
        let answer = query.run()?;
        assert_eq!(answer.found, expected.len() as u64, "documents that reach the threshold");
        assert_eq!((answer.change, answer.complete), (model.change, true));
        let likes = self.likes(answer);
        let limit = ask.limit.min(expected.len());
        assert_eq!(likes, expected[..limit]);
        self.note(|| format!("{likes:?}"));
        self.ask_filtered(&query, model, expected, ask)?;
        // With few candidates, or stopped early, a query returns a part of the answer.
        let bound = ask.rows % 4;
        let all = query.limit(usize::MAX);
        self.ask_for_part(&all.clone().max_candidates(bound as usize), expected, bound)?;
        let left = AtomicU32::new(ask.rows % 8);
        let go_on = |left: u32| Some(left.saturating_sub(1));
        let is_over = || left.fetch_update(Relaxed, Relaxed, go_on) == Ok(0);
        self.ask_for_part(&all.clone().cancel_if(is_over), expected, ask.rows % 8)?;
        self.ask_for_part(&all.deadline(Instant::now()), expected, 0)
    }

    /// Expects the documents that pass random conditions; the limit applies after them.
    fn ask_filtered(
        &self,
        query: &Query<'_>,
        model: &Model,
        expected: &[Like],
        ask: Ask,
    ) -> Result<()> {
        let shown = Shown::draw(&mut rng(model, ask.rows), model);
        let conditions = shown.conditions().alike(self.law.least_of(ask.rows).alike());
        let answer = query.clone().conditions(conditions.limit(ask.limit)).run()?;
        let expected: Vec<Like> =
            expected.iter().filter(|like| shown.passes_like(like)).cloned().collect();
        assert_eq!((answer.found, answer.complete), (expected.len() as u64, true));
        assert_eq!(self.likes(answer), expected[..ask.limit.min(expected.len())]);
        Ok(())
    }

    /// Runs a filtered query over the documents of a crash script, and compares the matches.
    pub(super) fn check_filter(&self, snapshot: &Snapshot, model: &Model) -> Result<()> {
        let signature = self.signature(&vec![9; self.law.hashes]);
        let (least, ask) = (self.law.least_of(0), Ask { rows: 0, limit: usize::MAX });
        let expected = model.query(&self.law, signed(&signature), least, None);
        let query = snapshot.query(&signature).alike(least.alike()).limit(ask.limit);
        self.ask_filtered(&query, model, &expected, ask)
    }

    /// Expects a part of the full answer. If something is missing, `complete` must be false; if
    /// `bound` is 0, the part must be empty.
    fn ask_for_part(&self, query: &Query<'_>, expected: &[Like], bound: u32) -> Result<()> {
        let answer = query.run()?;
        let complete = answer.complete;
        let likes = self.likes(answer);
        assert!(likes.len() == expected.len() || !complete, "it says so if something is missing");
        // If a query of several keys stops early, it may not have compared a document with the most
        // similar of the keys, so the match may have fewer equal rows.
        let part_of = |like: &Like, whole: &Like| {
            (&like.0, &like.1, like.2) == (&whole.0, &whole.1, whole.2) && like.3 <= whole.3
        };
        let known = |like: &Like| expected.iter().any(|whole| part_of(like, whole));
        assert!(likes.iter().all(known), "{likes:?}");
        assert!(bound > 0 || likes.is_empty());
        Ok(())
    }

    /// A query of several signatures must return the same answers as single queries, also with
    /// limited candidates.
    fn ask_together(
        &self,
        snapshot: &Snapshot,
        model: &Model,
        lanes: &[u8],
        ask: Ask,
    ) -> Result<()> {
        let mut lanes = lanes.to_vec();
        let mut next = || {
            lanes.rotate_left(1);
            self.signature(&lanes)
        };
        let signatures: Vec<Signature> = (0..=ask.rows % 8).map(|_| next()).collect();
        let least = self.law.least_of(ask.rows);
        for bound in [usize::MAX, 2 * ask.limit.min(4)] {
            let queries = snapshot.queries(&signatures).alike(least.alike()).limit(ask.limit);
            let together = queries.max_candidates(bound).run()?;
            for (signature, answer) in signatures.iter().zip(&together) {
                let query = snapshot.query(signature).alike(least.alike()).limit(ask.limit);
                assert_eq!(answer, &query.max_candidates(bound).run()?, "queried alone");
            }
            assert_eq!(together.len(), signatures.len());
        }
        let shown = Shown::draw(&mut rng(model, ask.rows + 1), model);
        let conditions = shown.conditions().alike(least.alike());
        let together = snapshot.queries(&signatures).conditions(conditions).run()?;
        let part = model.restricted_to(&shown);
        for (signature, answer) in signatures.iter().zip(together) {
            let expected = part.query(&self.law, signed(signature), least, None);
            assert_eq!((answer.found, answer.complete), (expected.len() as u64, true));
            assert_eq!(self.likes(answer), expected, "{shown:?}");
        }
        Ok(())
    }

    /// Pairs under random conditions are all pairs of an index that holds what passes.
    fn ask_for_shown_pairs(&self, snapshot: &Snapshot, model: &Model, least: Least) -> Result<()> {
        let shown = Shown::draw(&mut rng(model, 2), model);
        let part = model.restricted_to(&shown);
        let expected = part.pairs(&self.law, least);
        let pairs = || snapshot.pairs(shown.conditions().alike(least.alike()));
        let found = pairs()?.collect::<Result<Vec<_>>>()?;
        assert_eq!(found.len(), expected.len(), "each pair once");
        let found = found.into_iter().map(|pair| (pair.a, pair.b, pair.equal_rows));
        assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{shown:?}");
        let collapsed = pairs()?.collapse()?.collect::<Result<Vec<_>>>()?;
        check_collapsed(&collapsed, &part, &expected, (self.law.hashes, least));
        for limit in [0, 1, expected.len(), usize::MAX] {
            let conditions = shown.conditions().alike(least.alike()).limit(limit);
            let some = snapshot.pairs(conditions)?;
            let (count, all) = (some.count(), expected.len());
            assert_eq!(count, limit.min(all), "limit {limit}");
        }
        Ok(())
    }

    /// Clusters under random conditions are the clusters of an index that holds what passes.
    fn ask_for_shown_clusters(
        &self,
        snapshot: &Snapshot,
        model: &Model,
        least: Least,
    ) -> Result<()> {
        let shown = Shown::draw(&mut rng(model, 3), model);
        let part = model.restricted_to(&shown);
        let expected: Vec<_> = part.clusters(&self.law, least).into_iter().collect();
        for limit in [usize::MAX, 1] {
            let conditions = shown.conditions().alike(least.alike()).limit(limit);
            let clusters = snapshot.clusters(conditions)?.collect::<Result<Vec<_>>>()?;
            let found: Vec<_> = clusters.into_iter().map(|cluster| cluster.keys).collect();
            assert_eq!(found, expected[..limit.min(expected.len())], "{shown:?}");
        }
        Ok(())
    }

    fn likes(&self, answer: Answer) -> Vec<Like> {
        let mut likes = Vec::new();
        for found in answer.matches {
            let similarity = self.law.estimate(found.equal_rows).max(0.0);
            assert!((found.similarity - similarity).abs() < 1e-12, "{found:?}");
            likes.push((found.key, found.payload, found.time, found.equal_rows));
        }
        likes
    }

    /// Makes calls that must be refused and change nothing.
    fn refuse(&self, which: usize) -> Result<()> {
        let index = self.index();
        let good = self.signature(&vec![7; self.law.hashes]);
        let params = &self.layout.params;
        let others = params.to_builder().seed(params.seed() ^ 1).build()?;
        let foreign = signature_from_parts(&others, 1, good.as_bytes().into());
        match which {
            0 => refused(index.insert(b"", &good), ErrorKind::Invalid),
            1 => refused(index.remove(vec![b'k'; 4_097]), ErrorKind::Invalid),
            2 => refused(index.insert(b"k", &foreign), ErrorKind::Mismatch),
            3 => refused(index.query(&foreign).run(), ErrorKind::Mismatch),
            4 => {
                let nothing = Conditions::default().after(5).before(5);
                refused(index.query(&good).threshold(1.1).run(), ErrorKind::Invalid)?;
                refused(index.query(&good).conditions(nothing.clone()).run(), ErrorKind::Invalid)?;
                refused(index.pairs(nothing.clone()), ErrorKind::Invalid)?;
                refused(
                    index.clusters(Conditions::from(0.5).max_candidates(9)),
                    ErrorKind::Invalid,
                )?;
                refused(index.admit("k", &good, &Admit::at(nothing)), ErrorKind::Invalid)
            }
            _ => {
                let long = vec![0; 65_537];
                let batch = Batch::new().remove(b"1").insert_with_payload(b"0", &good, &long);
                refused(index.write(&batch), ErrorKind::Invalid)
            }
        }
    }
}

/// Random numbers that follow from the state and the question.
fn rng(model: &Model, salt: u32) -> Rng {
    Rng::new(model.change << 32 | u64::from(salt))
}

/// Checks that collapsed pairs, when expanded, are all the pairs.
fn check_collapsed(
    collapsed: &[Collapsed],
    model: &Model,
    expected: &BTreeSet<(Vec<u8>, Vec<u8>, u32)>,
    (hashes, least): (usize, Least),
) {
    // Containment depends on the numbers of shingles, too.
    let twins = |key: &[u8]| {
        let own = model.get(key).expect("it is stored");
        let is_twin = move |doc: &Doc| match least.contained {
            Some(_) => doc.signed() == own.signed(),
            None => doc.signature == own.signature,
        };
        let twins = model.docs.iter().filter(move |(_, doc)| is_twin(doc));
        twins.map(|(key, _)| key.to_vec()).collect::<Vec<_>>()
    };
    let mut pairs = BTreeSet::new();
    let mut add = |one: &Vec<u8>, other: &Vec<u8>, rows: u32| {
        let (a, b) = if one < other { (one, other) } else { (other, one) };
        assert!(pairs.insert((a.clone(), b.clone(), rows)), "reported twice");
    };
    for item in collapsed {
        match item {
            Collapsed::Crowd { key, count } => {
                let twins = twins(key);
                assert_eq!((&twins[0], twins.len() as u64), (key, *count));
                for (at, one) in twins.iter().enumerate() {
                    for other in &twins[at + 1..] {
                        add(one, other, u32::try_from(hashes).expect("few rows"));
                    }
                }
            }
            Collapsed::Pair { pair, a_count, b_count } => {
                let (ones, others) = (twins(&pair.a), twins(&pair.b));
                assert_eq!((&ones[0], &others[0]), (&pair.a, &pair.b), "they stand for them");
                assert_eq!((ones.len() as u64, others.len() as u64), (*a_count, *b_count));
                for (one, other) in ones.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                    add(one, other, pair.equal_rows);
                }
            }
        }
    }
    assert_eq!(&pairs, expected);
}

/// Checks that the snapshot has all documents of the model, and no others.
pub(super) fn check_all(snapshot: &Snapshot, model: &Model) -> Result<()> {
    assert_eq!(snapshot.change(), model.change);
    assert_eq!(snapshot.len(), model.docs.len() as u64);
    let mut count = 0;
    for document in snapshot.iter() {
        let document = document?;
        let key = document.key.clone();
        let expected = model.get(&key);
        assert_eq!(Some(&stored(&key, document)), expected, "{key:?}");
        count += 1;
    }
    assert_eq!(count, model.docs.len(), "each document once");
    check_keys(snapshot, model)?;
    for (key, doc) in &model.docs {
        let found = snapshot.get(key)?.map(|found| stored(key, found));
        assert_eq!(found.as_ref(), Some(&**doc), "{key:?}");
    }
    Ok(())
}

/// Checks that pages of several sizes hold the keys with a prefix, each once and in order.
fn check_pages(snapshot: &Snapshot, model: &Model) -> Result<()> {
    for (prefix, limit) in [(&b""[..], 1), (b"", 7), (b"1", 2), (b"\xff", 3), (b"none", 5)] {
        let mut expected = model.docs.keys().filter(|key| key.starts_with(prefix));
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = snapshot.keys_page(prefix, after.as_deref(), limit)?;
            let wanted: Vec<_> = expected.by_ref().take(limit).collect();
            let is_equal =
                page.iter().map(crate::Key::as_bytes).eq(wanted.iter().map(|key| &key[..]));
            assert!(is_equal, "{page:?} after {after:?}");
            let Some(last) = page.last() else { break };
            after = Some(last.as_bytes().to_vec());
        }
        assert_eq!(expected.next(), None);
    }
    assert!(snapshot.keys_page("", None, 0)?.is_empty());
    Ok(())
}

/// Checks all keys in order, the keys with a prefix, and look-ups of several keys.
fn check_keys(snapshot: &Snapshot, model: &Model) -> Result<()> {
    let prefixes: [&[u8]; 8] =
        [b"", b"1", b"key of", b"\xff\x00", b"key of a document, 1", b"10", b"9\0", b"none"];
    for prefix in prefixes {
        let keys = snapshot.keys_with_prefix(prefix)?;
        let expected = model.docs.keys().filter(|key| key.starts_with(prefix));
        assert_eq!(keys.len(), expected.clone().count(), "beginning with {prefix:?}");
        let keys = keys.map(|key| Ok(key?.into_vec())).collect::<Result<Vec<_>>>()?;
        assert!(keys.iter().map(|key| &key[..]).eq(expected.map(|key| &key[..])), "{keys:?}");
    }
    check_pages(snapshot, model)?;
    let mut keys = Vec::new();
    snapshot.for_each_key(|key| {
        keys.push(key.to_vec());
        if keys.len() < 7 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    assert_eq!(keys.len(), model.docs.len().min(7), "called until it breaks off");
    keys.clear();
    snapshot.for_each_key(|key| {
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    })?;
    keys.sort_unstable();
    assert!(keys.iter().map(|key| &key[..]).eq(model.docs.keys().map(|key| &**key)), "{keys:?}");
    let wanted: Vec<&[u8]> = model.docs.keys().map(|key| &**key).chain([&b"none"[..]]).collect();
    let found = snapshot.get_many(&wanted)?;
    for (key, found) in wanted.iter().zip(found) {
        assert_eq!(found.map(|found| stored(key, found)).as_ref(), model.get(key));
    }
    Ok(())
}

pub(super) fn stored(key: &[u8], document: Document) -> Doc {
    assert_eq!(document.key, key);
    Doc {
        signature: document.signature.as_bytes().to_vec(),
        payload: document.payload,
        time: document.time,
        shingle_count: document.signature.shingle_count(),
    }
}

/// Checks that the call was refused with this kind of error. Returns any other error: the disk may
/// have stopped.
fn refused<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind) -> Result<()> {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => Err(error),
        Ok(value) => panic!("{value:?} where {kind:?} was due"),
    }
}
