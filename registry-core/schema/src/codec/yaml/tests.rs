use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn read(text: &str) -> Result<Decoded, DecodeError> {
    decode(text.as_bytes(), &Limits::default())
}

#[test]
fn scalars_mean_what_yaml_1_1_says() {
    let table = [
        ("y", json!(true)),
        ("Off", json!(false)),
        ("~", json!(null)),
        ("", json!(null)),
        ("017", json!(15)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("-0b11", json!(-3)),
        ("08", json!(8)),
        ("1_000", json!(1000)),
        ("+12", json!(12)),
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("-.5", json!(-0.5)),
        (".5", json!(0.5)),
        ("9223372036854775807", json!(i64::MAX)),
        ("2001-01-01", json!("2001-01-01")),
        ("2001-12-14T21:59:43Z", json!("2001-12-14T21:59:43Z")),
        ("1:30", json!("1:30")),
        ("1e", json!("1e")),
        ("0x", json!("0x")),
        ("--1", json!("--1")),
        ("nope", json!("nope")),
        ("'yes'", json!("yes")),
        ("\"1\"", json!("1")),
        ("!!str 1", json!("1")),
        ("!!float 1", json!(1)),
        ("!!int '12'", json!(12)),
        ("!!binary aGk=", json!("hi")),
        ("!local x", json!("x")),
    ];
    for (text, value) in table {
        assert_eq!(read(&format!("a: {text}\n")).unwrap().value, json!({ "a": value }), "{text}");
    }
}

#[test]
fn all_documents_of_a_text_are_read() {
    let text =
        "# first\n---\na: &x 1\ntext: |\n  ---\n  b\n--- # second\n{\"b\": 2}\n...\n---\n---\nc: 3\nc: 4\n";
    let decoded = decode_all(text.as_bytes(), &Limits::default()).unwrap();
    let values: Vec<_> = decoded.iter().map(|document| document.value.clone()).collect();
    assert_eq!(values, [json!({"a": 1, "text": "---\nb\n"}), json!({"b": 2}), json!(null), json!({"c": 4})]);
    let duplicates: Vec<_> = decoded.iter().map(|document| document.duplicates.len()).collect();
    assert_eq!(duplicates, [0, 0, 0, 1]);
    assert!(decode_all(b"# nothing\n", &Limits::default()).unwrap().is_empty());
    // An anchor is that of its document.
    for wrong in ["a: &x 1\n---\nb: *x\n", "a: 1\n---\nb: [\n"] {
        assert!(decode_all(wrong.as_bytes(), &Limits::default()).is_err(), "{wrong}");
    }
}

#[test]
fn a_tab_separates_a_key_from_its_value() {
    for (text, value) in [
        ("a:\tb\n", json!({"a": "b"})),
        ("a:\t\t1\nb:\t-1\n", json!({"a": 1, "b": -1})),
        ("a:\n  b:\tc\n  d:\t\"e\"\n", json!({"a": {"b": "c", "d": "e"}})),
        ("- a:\tb\n  c:\t&x d\n- *x\n", json!([{"a": "b", "c": "d"}, "d"])),
        ("{a:\tb, c:\t[1,\t2]}\n", json!({"a": "b", "c": [1, 2]})),
        ("a:\t# comment\n  b\n", json!({"a": "b"})),
        // Scalars keep their tabs.
        ("a: \"b:\tc\"\nd: 'e:\tf'\n", json!({"a": "b:\tc", "d": "e:\tf"})),
        ("a: |\n  b:\tc\nd: >-\n  e:\tf\n", json!({"a": "b:\tc\n", "d": "e:\tf"})),
        ("\"a:\tb\":\tc\n", json!({"a:\tb": "c"})),
        ("a: b\tc\n", json!({"a": "b\tc"})),
    ] {
        assert_eq!(read(text).unwrap().value, value, "{text:?}");
    }
    // Tabs do not indent.
    for text in ["a:\n\tb: c\n", "a:\tb: c\n", "a:\t- b\n", "-\t- a\n"] {
        assert!(read(text).is_err(), "{text:?}");
    }
}

#[test]
fn documents_become_json() {
    let table = [
        ("", json!(null)),
        ("# nothing\n---\n", json!(null)),
        ("---\na: 1\n---\nb: 2\n", json!({"a": 1})),
        ("1: a\ntrue: b\n1.5: c\n", json!({"1": "a", "true": "b", "1.5": "c"})),
        ("a: &x {k: [1, 2]}\nb: *x\n", json!({"a": {"k": [1, 2]}, "b": {"k": [1, 2]}})),
        ("a: &x {k: 1}\nb: {<<: *x, l: 3}\n", json!({"a": {"k": 1}, "b": {"k": 1, "l": 3}})),
        ("a: &x {k: 1}\nb: {<<: [*x, {k: 2, m: 2}]}\n", json!({"a": {"k": 1}, "b": {"k": 1, "m": 2}})),
        ("a: &x k\n*x : 1\n", json!({"a": "k", "k": 1})),
        ("{\"a\": \"\\ud83d\\ude00\"}", json!({"a": "\u{1f600}"})),
        ("{a: 1,\n b: [x, 'y']}", json!({"a": 1, "b": ["x", "y"]})),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", json!({"a": "x\ny\n", "b": "x y"})),
        ("\u{feff}a: 1\n", json!({"a": 1})),
    ];
    for (text, value) in table {
        let found = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found.value, value, "{text}");
        assert!(found.duplicates.is_empty(), "{text}");
    }
}

#[test]
fn duplicates_are_noted_with_their_lines() {
    let text = "data:\n  k: '1'\n  k: '2'\nspec:\n- a: 1\n- b: 1\n  b: 2\ndata: {z: 1}\n";
    let decoded = read(text).unwrap();
    assert_eq!(decoded.value, json!({"data": {"z": 1}, "spec": [{"a": 1}, {"b": 2}]}));
    let issues: Vec<_> = decoded.duplicates.iter().map(ToString::to_string).collect();
    let lines = [(3, "k"), (7, "b"), (8, "data")]
        .map(|(line, key)| format!("\n  line {line}: key \"{key}\" already set in map"));
    assert_eq!(issues, [format!("yaml: unmarshal errors:{}", lines.concat())]);
    let json = read("{\"a\": 1,\n\"a\": 2}").unwrap();
    assert_eq!(
        json.duplicates,
        [FieldIssue::RepeatedKeys(vec![RepeatedKey { line: 2, key: "a".to_owned() }])]
    );
    assert_eq!(read("a: 1\nb: &x {c: 1}\n").unwrap().duplicates, []);
}

#[test]
fn documents_that_json_cannot_hold_are_refused() {
    for text in [
        "a: .nan",
        "a: .inf",
        "? [1]\n: 2",
        "? {a: 1}\n: 2",
        "~: 1",
        "a: [1",
        "a: b: c",
        "a: *x",
        "a: &x [*x]",
        "a: 1\0b",
        "<<: 1",
        "!!int x",
        "!!binary '%'",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(decode(b"a: \xff", &Limits::default()).is_err());
    assert_eq!(read("a: 1\nb: [").unwrap_err().to_string().split(':').next(), Some("yaml"));
}

#[test]
fn bombs_are_refused_quickly() {
    let laughs: String = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &(1..10)
            .map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(",")))
            .collect::<Vec<_>>()
            .concat();
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 1000].join(","));
    let deep_copies = (1..20)
        .map(|n| format!("a{n}: &a{n} {}*a{}{}\n", "[".repeat(100), n - 1, "]".repeat(100)))
        .collect::<Vec<_>>()
        .concat();
    let bombs = [
        laughs,
        long,
        format!("a0: &a0 [1]\n{deep_copies}"),
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(100_000),
        (0..127).map(|n| format!("&x{n} [")).collect::<Vec<_>>().concat() + &"1,".repeat(120_000),
    ];
    for bomb in bombs {
        let started = Instant::now();
        assert!(read(&bomb).is_err());
        assert!(started.elapsed() < Duration::from_secs(10), "{}", &bomb[..20]);
    }
}
