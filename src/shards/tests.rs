//! Runs the steps of a cluster one after the other, and compares the result with an index of all
//! documents.

use super::{VerifiedPair, Verifier};
use super::{are_stars, band_entries, blocks, components, dropped};
use super::{large_star, shard_of, small_star};
use crate::{Batch, Durability, ErrorKind, Index, Maintenance, Options, Params, Signature};
use std::collections::{BTreeMap, BTreeSet};

type SignedKey = (Vec<u8>, Vec<u8>);

fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).build().expect("sound")
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    *state >> 33
}

/// Keys and signatures of test documents. There are families, whose members differ in a few rows,
/// and crowds of documents with equal signatures.
pub(super) fn documents(count: u32) -> Vec<SignedKey> {
    let mut state = 7;
    let mut documents = Vec::new();
    for at in 0..count {
        let family = u8::try_from(random(&mut state) % 40).expect("small");
        // Every fourth document belongs to a crowd.
        let is_copy = at.is_multiple_of(4);
        let changed = |row: u8, state: &mut u64| {
            let noise = !is_copy && random(state).is_multiple_of(5);
            // The first band is the same for a third of all families: a hot bucket.
            if row < 4 && family % 3 == 0 { 200 } else { family + 100 * u8::from(noise) }
        };
        let signature = (0..16).map(|row| changed(row, &mut state)).collect();
        documents.push((format!("k{at}").into_bytes(), signature));
    }
    documents
}

pub(super) fn signature(params: &Params, bytes: &[u8]) -> Signature {
    Signature::from_bytes(params, bytes, 3).expect("of these parameters")
}

pub(super) fn index(documents: &[SignedKey]) -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline);
    let index = Index::create(folder.path().join("x.nearkin"), &params(), options);
    let index = index.expect("created");
    for part in documents.chunks(300) {
        let batch = part.iter().fold(Batch::new(), |batch, (key, bytes)| {
            batch.insert(key.as_slice(), &signature(&params(), bytes))
        });
        index.write(batch).expect("written");
    }
    (folder, index)
}

type KeyPair = (Vec<u8>, Vec<u8>, u32);
type Edges = Vec<(Vec<u8>, Vec<u8>)>;

fn at(number: u64) -> usize {
    usize::try_from(number).expect("few documents")
}

fn expected_pairs(index: &Index, threshold: f64) -> Vec<KeyPair> {
    let pairs = index.pairs(threshold).expect("pairs").map(|pair| pair.expect("sound"));
    let mut pairs: Vec<_> = pairs.map(|pair| (pair.a, pair.b, pair.equal_rows)).collect();
    pairs.sort_unstable();
    pairs
}

fn expected_clusters(index: &Index, threshold: f64) -> Edges {
    let mut members = Vec::new();
    for cluster in index.clusters(threshold).expect("clusters") {
        let cluster = cluster.expect("sound");
        let least = cluster.representative().to_vec();
        members.extend(cluster.keys.iter().map(|key| (key.clone(), least.clone())));
    }
    members.sort_unstable();
    members
}

/// The job of a cluster, with the documents of each shard on a separate machine.
struct Job {
    params: Params,
    /// The documents by number: for each signature, only the document with the smallest key.
    representatives: Vec<SignedKey>,
    /// For each number, all keys with the signature of that document.
    crowds: Vec<Vec<Vec<u8>>>,
    /// For each shard, the numbers of its documents.
    shards: Vec<Vec<u64>>,
}

impl Job {
    fn new(documents: &[SignedKey], shards: u32) -> Self {
        let mut by_signature: BTreeMap<&[u8], Vec<Vec<u8>>> = BTreeMap::new();
        for (key, bytes) in documents {
            by_signature.entry(bytes).or_default().push(key.clone());
        }
        let mut job = Self {
            params: params(),
            representatives: Vec::new(),
            crowds: Vec::new(),
            shards: vec![Vec::new(); shards as usize],
        };
        for (bytes, mut keys) in by_signature {
            keys.sort_unstable();
            let number = job.crowds.len() as u64;
            job.shards[shard_of(&keys[0], shards) as usize].push(number);
            job.representatives.push((keys[0].clone(), bytes.to_vec()));
            job.crowds.push(keys);
        }
        job
    }

    fn bytes(&self, numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| self.representatives[at(*number)].1.clone()).collect()
    }

    /// The pairs of representatives, as numbers. Buckets of more than `block` documents are
    /// divided. Also returns how many buckets were divided.
    fn pairs(&self, threshold: f64, block: u32) -> (Vec<(u64, u64, u32)>, usize) {
        let mut groups: BTreeMap<(u16, u64), Vec<u64>> = BTreeMap::new();
        for numbers in &self.shards {
            let bands = 0..self.params.bands();
            let entries = band_entries(&self.params, &self.bytes(numbers), numbers, bands);
            for entry in entries.expect("sound") {
                groups.entry((entry.band, entry.band_key)).or_default().push(entry.document);
            }
        }
        groups.retain(|_, numbers| numbers.len() > 1);
        let verifier = Verifier::new(&self.params, threshold).expect("from 0 to 1");
        let (mut pairs, mut cut) = (Vec::new(), 0);
        for ((band, _), numbers) in groups {
            cut += usize::from(numbers.len() > block as usize);
            for (left, right) in blocks(u32::try_from(numbers.len()).expect("few"), block) {
                let (a, b) = (&numbers[left.clone()], &numbers[right.clone()]);
                let found = if left == right {
                    verifier.bucket(band, &self.bytes(a))
                } else {
                    verifier.between(band, &self.bytes(a), &self.bytes(b))
                };
                let found = found.expect("sound").into_iter();
                pairs.extend(found.map(|pair| (a[pair.a], b[pair.b], pair.equal_rows)));
            }
        }
        (pairs, cut)
    }

    /// The pairs of all documents: each representative is expanded to all keys of its crowd.
    fn expand(&self, pairs: &[(u64, u64, u32)]) -> Vec<KeyPair> {
        let ordered = |a: &Vec<u8>, b: &Vec<u8>, rows| {
            if a < b { (a.clone(), b.clone(), rows) } else { (b.clone(), a.clone(), rows) }
        };
        let mut all = Vec::new();
        for (a, b, rows) in pairs {
            for a in &self.crowds[at(*a)] {
                all.extend(self.crowds[at(*b)].iter().map(|b| ordered(a, b, *rows)));
            }
        }
        for keys in &self.crowds {
            for (at, a) in keys.iter().enumerate() {
                all.extend(keys[at + 1..].iter().map(|b| ordered(a, b, 16)));
            }
        }
        all.sort_unstable();
        all
    }

    /// Edges between keys: those of the pairs, and edges from the members of crowds to their
    /// representatives.
    fn edges(&self, pairs: &[(u64, u64, u32)]) -> Edges {
        let key = |number: &u64| self.representatives[at(*number)].0.clone();
        let mut edges: Vec<_> = pairs.iter().map(|(a, b, _)| (key(a), key(b))).collect();
        for keys in &self.crowds {
            edges.extend(keys[1..].iter().map(|other| (other.clone(), keys[0].clone())));
        }
        edges
    }
}

/// Runs rounds of large-star and small-star until nothing changes. Edges are partitioned by their
/// first node.
fn by_rounds(mut edges: Edges, parts: u32) -> (Edges, u32) {
    let grouped = |edges: Edges| {
        let mut groups = vec![Vec::new(); parts as usize];
        for edge in edges {
            groups[shard_of(&edge.0, parts) as usize].push(edge);
        }
        groups
    };
    for round in 1.. {
        let both = edges.iter().flat_map(|(a, b)| [(a.clone(), b.clone()), (b.clone(), a.clone())]);
        let large = grouped(both.collect()).into_iter().flat_map(large_star).collect();
        let small = grouped(large).into_iter().flat_map(small_star);
        let next: BTreeSet<_> = small.collect();
        let next: Vec<_> = next.into_iter().collect();
        assert!(round < 40, "the rounds come to an end");
        if next == edges {
            return (next, round);
        }
        edges = next;
    }
    unreachable!("the loop returns")
}

#[test]
fn a_cluster_of_any_number_of_shards_finds_what_one_index_finds() {
    let documents = documents(600);
    let (_folder, index) = index(&documents);
    for threshold in [0.4, 0.7, 0.95] {
        let (pairs, clusters) =
            (expected_pairs(&index, threshold), expected_clusters(&index, threshold));
        assert!(pairs.len() > 300 && clusters.len() > 100, "{} {}", pairs.len(), clusters.len());
        for shards in [1, 2, 7] {
            let job = Job::new(&documents, shards);
            assert!(job.crowds.iter().any(|keys| keys.len() > 3), "there are crowds");
            for block in [1_000, 16] {
                let (found, cut) = job.pairs(threshold, block);
                assert_eq!(cut > 0, block == 16, "hot buckets are cut");
                // This also checks that no pair is found twice, because `expand` would return it
                // twice, too.
                assert_eq!(job.expand(&found), pairs, "{shards} shards at {threshold}");
                let edges = job.edges(&found);
                // Each partition is reduced to star edges, then one task combines them.
                let stars = edges.chunks(50).flat_map(|part| components(part.iter().cloned()));
                assert_eq!(components(stars), clusters, "{shards} shards at {threshold}");
                let (stars, _) = by_rounds(edges, shards);
                assert!(are_stars(&stars));
                let members = components(stars.clone());
                assert_eq!(members, clusters, "{shards} shards at {threshold}");
                assert!(
                    stars.iter().all(|(a, least)| members.contains(&(a.clone(), least.clone())))
                );
            }
        }
    }
}

#[test]
fn a_pair_counts_at_its_first_shared_band_only() {
    let params = params();
    let verifier = Verifier::new(&params, 0.3).expect("from 0 to 1");
    let (mut a, mut b) = ([1; 16], [1; 16]);
    a[0] = 9;
    // `a` and `b` share bands 1, 2 and 3.
    for (band, counted) in [(0, None), (1, Some(15)), (2, None), (3, None)] {
        assert_eq!(verifier.pair(band, &a, &b).expect("sound"), counted, "band {band}");
        let both = [a, b].concat();
        let pairs = verifier.bucket(band, &both).expect("sound");
        let found = pairs.first().map(|pair: &VerifiedPair| (pair.a, pair.b, pair.equal_rows));
        assert_eq!(found, counted.map(|rows| (0, 1, rows)));
        assert_eq!(verifier.between(band, &a, &b).expect("sound").len(), pairs.len());
    }
    let similarity = verifier.bucket(1, &[a, b].concat()).expect("sound")[0].similarity;
    assert!((similarity - params.similarity(15)).abs() < f64::EPSILON);
    // Now too few rows are equal for a pair.
    b[4..16].fill(7);
    assert_eq!(verifier.pair(1, &a, &b).expect("sound"), None);
}

#[test]
fn a_long_path_becomes_a_star_in_few_rounds() {
    let path: Vec<_> = (0..1_000_u32).map(|at| (name(at), name(at + 1))).collect();
    let (stars, rounds) = by_rounds(path.clone(), 3);
    assert_eq!(stars.len(), 1_000);
    assert!(stars.iter().all(|(_, least)| *least == name(0)));
    assert!(rounds < 14, "{rounds} rounds");
    let mut reversed = path;
    reversed.reverse();
    assert_eq!(by_rounds(reversed, 1).0, stars);
}

fn name(at: u32) -> Vec<u8> {
    // Makes the order of the names differ from the order along the path; only node 0 is first in
    // both.
    format!("{:08}", u64::from(at) * 7_919 % 10_007).into_bytes()
}

#[test]
fn edges_that_form_no_stars_are_detected() {
    assert!(are_stars(&[(2, 1), (3, 1), (5, 4)]));
    assert!(are_stars::<u8>(&[]));
    assert!(!are_stars(&[(2, 1), (2, 1)]), "an edge twice");
    assert!(!are_stars(&[(3, 2), (2, 1)]), "a centre that is a member");
    assert!(!are_stars(&[(1, 2)]), "a centre that is not the least");
    assert!(!are_stars(&[(3, 1), (3, 2)]), "a member of two");
}

#[test]
fn edges_to_oneself_say_nothing() {
    assert_eq!(components([(1, 1), (3, 2)]), [(2, 2), (3, 2)]);
    assert_eq!(large_star([(1, 1)]), []);
    assert_eq!(small_star([(1, 1)]), []);
}

#[test]
fn bytes_and_bands_that_do_not_fit_are_refused() {
    let (params, one) = (params(), [7; 16]);
    let invalid = |refused: crate::Error| assert_eq!(refused.kind(), ErrorKind::Invalid);
    invalid(band_entries(&params, &one[..15], &[1], 0..4).expect_err("a byte is missing"));
    invalid(band_entries(&params, &one, &[1, 2], 0..4).expect_err("one signature is missing"));
    invalid(band_entries(&params, &one, &[1], 0..5).expect_err("no fifth band"));
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    invalid(band_entries(&params, &one, &[1], 3..2).expect_err("backwards"));
    assert_eq!(band_entries(&params, &one, &[1], 2..2).expect("none"), []);
    assert_eq!(band_entries(&params, &[], &[], 0..4).expect("none"), []);
    let verifier = Verifier::new(&params, 0.5).expect("from 0 to 1");
    invalid(Verifier::new(&params, 1.5).expect_err("above 1"));
    invalid(verifier.pair(0, &one, &one[1..]).expect_err("too short"));
    invalid(verifier.pair(4, &one, &one).expect_err("no fifth band"));
    invalid(verifier.bucket(0, &one[1..]).expect_err("too short"));
    invalid(verifier.between(0, &one, &one[1..]).expect_err("too short"));
}

#[test]
fn a_part_of_the_bands_is_that_part_of_the_rows() {
    let params = params();
    let documents = documents(50);
    let bytes = documents.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>();
    let numbers: Vec<u64> = (0..50).map(|number| number * 3).collect();
    let all = band_entries(&params, &bytes, &numbers, 0..4).expect("sound");
    let mut parts = band_entries(&params, &bytes, &numbers, 0..1).expect("sound");
    parts.extend(band_entries(&params, &bytes, &numbers, 1..4).expect("sound"));
    assert_eq!(all.iter().collect::<BTreeSet<_>>(), parts.iter().collect());
    let one = all[6];
    assert_eq!((one.band, one.document), (2, 3));
    assert_eq!(one.band_key, xxhash_rust::xxh3::xxh3_64(&documents[1].1[8..12]));
}

#[test]
fn keys_are_spread_over_shards_as_the_document_says() {
    assert_eq!(shard_of("", 0), 0);
    assert!((0..100_u32).all(|at| shard_of(at.to_le_bytes(), 1) == 0));
    // The hash is XXH3-64 of "p1" with seed 0.
    assert_eq!(
        shard_of("p1", 1000),
        u32::try_from(xxhash_rust::xxh3::xxh3_64(b"p1") % 1000).unwrap()
    );
    let used: BTreeSet<_> = (0..100_u32).map(|at| shard_of(at.to_le_bytes(), 7)).collect();
    assert_eq!(used.len(), 7);
}

#[test]
fn a_node_goes_if_one_kept_before_it_is_alike() {
    let edges = [(1, 2), (3, 2), (4, 3), (4, 4), (6, 5), (7, 5), (7, 1)];
    let expected = [(2, 1), (4, 3), (6, 5), (7, 1)];
    assert_eq!(dropped(edges), expected);
    assert_eq!(dropped(edges.into_iter().rev().map(|(a, b)| (b, a))), expected);
    // Compares with a direct implementation of the rule, on random edges.
    let mut state = 11;
    let edges: Vec<_> =
        (0..400).map(|_| (random(&mut state) % 200, random(&mut state) % 200)).collect();
    let mut kept: BTreeSet<u64> = BTreeSet::new();
    let mut gone = Vec::new();
    for node in 0..200 {
        let alike = |other: u64| {
            other < node && (edges.contains(&(node, other)) || edges.contains(&(other, node)))
        };
        match kept.iter().copied().find(|other| alike(*other)) {
            Some(least) => gone.push((node, least)),
            None => drop(kept.insert(node)),
        }
    }
    assert!(gone.len() > 60);
    assert_eq!(dropped(edges), gone);
}
