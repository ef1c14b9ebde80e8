//! What a query may ask for besides a text and a threshold.

use serde_json::{Value, json};

use super::http::{Client, Server};
use super::{Scratch, licence};

fn keys(answer: &Value) -> Vec<String> {
    let matches = answer["matches"].as_array().unwrap();
    matches.iter().map(|found| found["key"].as_str().unwrap().to_owned()).collect()
}

fn ask(client: &mut Client, body: &Value) -> Value {
    client.ask("POST", "/v1/query", Some(body)).has(200).json()
}

#[test]
fn several_texts_have_an_answer_each() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let texts = [licence("MIT"), "words of no licence at all".to_owned(), licence("Zlib")];
    let answers = ask(&mut client, &json!({"texts": texts, "threshold": 0.8, "limit": 2}));
    let answers = answers["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 3);
    for (text, answer) in texts.iter().zip(answers) {
        let one = ask(&mut client, &json!({"text": text, "threshold": 0.8, "limit": 2}));
        assert_eq!(&one, answer);
    }
    assert_eq!(keys(&answers[1]), [""; 0]);
    assert_eq!(ask(&mut client, &json!({"texts": []})), json!({"answers": []}));
    let mut fails = |body: Value, said: &str| {
        let answer = client.ask("POST", "/v1/query", Some(&body));
        let text = answer.fails(400, if said == "texts[1]" { "empty" } else { "invalid" }).text();
        assert!(text.contains(said), "{text}");
    };
    fails(json!({"texts": ["a b c", ""]}), "texts[1]");
    fails(json!({"texts": ["a b c"], "text": "a b c"}), "exactly one of");
    fails(json!({"texts": vec!["a"; 1_001], "limit": 1}), "at most 1000");
    fails(json!({"texts": vec!["a"; 21], "limit": 1_000}), "20000 matches");
    server.stop();
}

#[test]
fn a_key_of_another_tenant_is_refused_stored_or_not() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    for query in [
        json!({"key": "docs/MIT.txt", "prefix": "north/"}),
        json!({"key": "docs/none.txt", "prefix": "north/"}),
        json!({"keys": ["docs/MIT.txt"], "prefix": "north/"}),
    ] {
        server.ask("POST", "/v1/query", Some(&query)).fails(400, "invalid");
    }
    let own = json!({"key": "docs/MIT.txt", "prefix": "docs/"});
    server.ask("POST", "/v1/query", Some(&own)).has(200);
    server.stop();
}

#[test]
fn a_prefix_and_times_apply_before_the_limit() {
    let scratch = Scratch::new();
    scratch.ok("create i --threshold 0.3");
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let text = "one two three four five six seven eight nine ten";
    let mut times = Vec::new();
    for key in ["a/1", "b/1", "a/2", "b/2"] {
        let path = format!("/v1/documents/{key}");
        let text = if key.starts_with('b') { format!("{text} eleven") } else { text.to_owned() };
        client.ask("PUT", &path, Some(&json!({"text": text}))).has(201);
        times.push(client.ask("GET", &path, None).has(200).json()["time"].as_u64().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let answer = ask(&mut client, &json!({"text": text, "prefix": "b/", "limit": 1}));
    assert_eq!((keys(&answer), &answer["found"]), (vec!["b/1".to_owned()], &json!(2)));
    let answer = ask(&mut client, &json!({"key": "a/1", "prefix": "a/"}));
    assert_eq!(keys(&answer), ["a/2"]);
    let answer = ask(&mut client, &json!({"text": text, "after": times[1], "before": times[3]}));
    assert_eq!((keys(&answer), &answer["found"]), (vec!["a/2".into(), "b/1".into()], &json!(2)));
    let answer = ask(&mut client, &json!({"text": text, "after": times[3], "limit": 1}));
    assert_eq!((keys(&answer), &answer["found"]), (vec!["b/2".to_owned()], &json!(1)));
    let answer = ask(&mut client, &json!({"text": text, "before": times[0]}));
    assert_eq!(answer["found"], 0);
    let late = ask(&mut client, &json!({"text": text, "deadline_ms": 0}));
    assert_eq!((&late["found"], &late["complete"]), (&json!(0), &json!(false)));
    let wrong = json!({"text": text, "deadline_ms": -1});
    let refused = client.ask("POST", "/v1/query", Some(&wrong)).fails(400, "invalid");
    assert!(refused.text().contains("deadline_ms"), "{}", refused.text());
    server.stop();
}

#[test]
fn a_part_is_found_by_containment_and_verified_on_request() {
    let scratch = Scratch::new();
    for name in ["MIT", "JSON", "ISC", "Zlib"] {
        scratch.write(&format!("docs/{name}.txt"), licence(name));
    }
    scratch.ok("add i docs --threshold 0.2");
    let server = Server::start(&scratch, &["--texts"]);
    let mut client = server.connect();
    let whole = licence("MIT");
    let third = &whole[..whole.len() / 3];
    let third = &third[..third.rfind(' ').unwrap()];
    assert_eq!(ask(&mut client, &json!({"text": third, "threshold": 0.7}))["found"], 0);
    let answer = ask(&mut client, &json!({"text": third, "contained": 0.8}));
    assert!(keys(&answer).contains(&"docs/MIT.txt".to_owned()), "{answer}");
    assert!(answer["matches"][0]["contained"].as_f64().unwrap() >= 0.8);
    let exact = json!({"text": third, "contained": 0.99, "exact": true});
    let answer = ask(&mut client, &exact);
    let first = &answer["matches"][0];
    assert_eq!((&first["key"], &first["exact_contained"]), (&json!("docs/MIT.txt"), &json!(1.0)));
    assert!(first["exact"].as_f64().unwrap() < 0.5);
    // A licence and its variant, compared as texts: the command says the same.
    let ran = scratch.ok("query i --key docs/MIT.txt --exact --at-least 0.5 --json");
    let answer = ask(&mut client, &json!({"key": "docs/MIT.txt", "threshold": 0.5, "exact": true}));
    let printed: Vec<_> = ran.objects().iter().map(|found| found["exact"].clone()).collect();
    let found = answer["matches"].as_array().unwrap();
    let found: Vec<_> = found.iter().map(|found| found["exact"].clone()).collect();
    assert!(!found.is_empty() && found == printed, "{answer} {printed:?}");
    // The estimate reaches this threshold, or nearly; the texts do not.
    let above = json!({"text": whole, "threshold": printed[0].as_f64().unwrap() + 0.02,
        "exact": true});
    assert_eq!(keys(&ask(&mut client, &above)), ["docs/MIT.txt"]);
    scratch.write("docs/JSON.txt", "another text by now");
    std::fs::remove_file(scratch.path("docs/ISC.txt")).unwrap();
    let all = json!({"text": whole, "threshold": 0.01, "exact": true});
    let answer = ask(&mut client, &all);
    let found = |key: &str| {
        let all = answer["matches"].as_array().unwrap();
        all.iter().find(|found| found["key"] == key).cloned().unwrap_or_default()
    };
    assert_eq!(found("docs/MIT.txt")["exact"], 1.0);
    assert_eq!(found("docs/JSON.txt")["stale"], true);
    let rows = json!({"keys": ["docs/MIT.txt"], "exact": true});
    client.ask("POST", "/v1/query", Some(&rows)).fails(400, "invalid");
    server.stop();
    let server = Server::start(&scratch, &[]);
    let refused = server.ask("POST", "/v1/query", Some(&exact)).fails(400, "invalid");
    assert!(refused.text().contains("--texts"));
    server.stop();
    // Bands for 0.9 do not find parts, and the answer says so.
    let scratch = Scratch::new();
    scratch.ok("create i --threshold 0.9");
    let server = Server::start(&scratch, &[]);
    let answer = ask(&mut server.connect(), &json!({"text": third, "contained": 0.8}));
    assert!(answer["warning"].as_str().unwrap().contains("twice as long"), "{answer}");
    server.stop();
}
