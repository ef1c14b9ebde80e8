//! The feature `serde`: results can be written as JSON and read back.

use crate::support::Scratch;
use nearkin::{Admission, Admit, Answer, Batch, Cluster, Durability, ErrorKind, Pair, Params};
use nearkin::{Freshness, Index, Keep, Reader, Stats, Written};
use serde_json::{Value, from_str, json, to_string, to_value};

/// The value after a round trip through JSON.
#[track_caller]
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    from_str(&to_string(value).unwrap()).unwrap()
}

/// An index with two equal documents and a different one.
fn filled(scratch: &Scratch) -> (Index, Written) {
    let index = scratch.create();
    let sketch = index.sketcher();
    let (one, other) = (sketch.items(["a", "b", "c"]).unwrap(), sketch.items(["x"]).unwrap());
    let batch = Batch::new().insert("k1", &one).insert_with_payload("k2", &one, b"\xff");
    let written = index.write(batch.insert("k3", &other)).unwrap();
    (index, written)
}

#[test]
fn answers_come_back_as_they_were() {
    let scratch = Scratch::new();
    let (index, written) = filled(&scratch);
    assert_eq!(again::<Written>(&written), written);
    assert_eq!(
        to_value(&written).unwrap()["outcomes"],
        json!(["Inserted", "Inserted", "Inserted"])
    );
    let answer = index.query_key("k1").run().unwrap();
    assert_eq!(again::<Answer>(&answer), answer);
    let json = to_value(&answer).unwrap();
    // Keys and payloads are written as bytes.
    assert_eq!(json["matches"][0]["key"], json!([107, 50]));
    assert_eq!(json["matches"][0]["payload"], json!([255]));
    assert_eq!((&json["matches"][0]["similarity"], &json["complete"]), (&json!(1.0), &json!(true)));
    let stats = index.stats().unwrap();
    assert_eq!(again::<Stats>(&stats), stats);
    let fresh = Reader::open(scratch.dir(), nearkin::Options::default()).unwrap().freshness();
    let json = to_value(&fresh).unwrap();
    assert!(json["age_seconds"].is_f64() && json["failure"].is_null(), "{json}");
    assert_eq!(again::<Freshness>(&fresh).failure_kind, None);
    let json = to_value(&stats).unwrap();
    assert_eq!(json["recovery"]["changes_replayed"], 0);
    let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "bytes_cut",
            "bytes_on_disk",
            "bytes_read",
            "bytes_written",
            "change",
            "changes_replayed",
            "dead",
            "documents",
            "durable_change",
            "files_swept",
            "floor",
            "maintenance_failure",
            "mapped_bytes",
            "memtable_bytes",
            "memtable_documents",
            "own_bytes",
            "recovery",
            "segments",
            "snapshots_pinning",
            "syncs",
            "unicode",
            "unicode_created",
        ],
        "programs read these names"
    );
    for pair in index.pairs(0.5).unwrap() {
        let pair = pair.unwrap();
        assert_eq!(again::<Pair>(&pair), pair);
    }
    for cluster in index.clusters(0.5).unwrap() {
        let cluster = cluster.unwrap();
        assert_eq!(again::<Cluster>(&cluster), cluster);
    }
    let newcomer = index.sketcher().items(["a", "b", "c"]).unwrap();
    let rejected = index.admit("k4", &newcomer, &Admit::at(0.9)).unwrap();
    assert_eq!(again::<Admission>(&rejected), rejected);
    assert!(to_value(&rejected).unwrap()["decision"]["Rejected"]["duplicates"].is_array());
}

#[test]
fn parameters_options_and_kinds_have_names() {
    let params = Params::for_threshold(0.6).build().unwrap();
    assert_eq!(again::<Params>(&params), params);
    let mut json = to_value(&params).unwrap();
    json["hashes"] = json!(7);
    assert!(from_str::<Params>(&json.to_string()).is_err(), "out of the limits");
    assert_eq!(to_value(ErrorKind::NotFound).unwrap(), json!("NotFound"));
    assert_eq!(from_str::<Keep>("\"Newest\"").unwrap(), Keep::Newest);
    assert_eq!(to_value(Durability::Sync).unwrap(), Value::from("Sync"));
}
