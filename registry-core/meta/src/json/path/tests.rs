use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Found, JsonPath, print};

fn store() -> Value {
    json!({
        "metadata": {"name": "shop", "labels": {"kubernetes.io/os": "linux", "a b": "blank"}},
        "spec": {"replicas": 3, "ratio": 0.5, "big": 12_345_678.5, "open": true, "none": null},
        "books": [
            {"title": "Moby Dick", "price": 8, "tags": ["sea"]},
            {"title": "Sword", "price": 12, "isbn": "x-1"},
            {"title": "Rings", "price": 22, "isbn": "x-2", "tags": []},
        ],
        "matrix": [[1, 2], [3, 4]],
        "html": {"a": "<b>&"},
    })
}

fn printed(path: &str) -> Result<String, String> {
    let path = JsonPath::parse(path).map_err(|error| error.to_string())?;
    path.find(&store()).map(|found| print(&found)).map_err(|error| error.to_string())
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        assert_eq!(printed(path).as_deref(), Ok(*expected), "{path}");
    }
}

#[track_caller]
fn refuse(cases: &[(&str, &str)]) {
    for (path, expected) in cases {
        assert_eq!(printed(path), Err((*expected).to_owned()), "{path}");
    }
}

#[test]
fn fields_are_selected_by_their_names() {
    check(&[
        (".metadata.name", "shop"),
        ("$.metadata.name", "shop"),
        ("@.metadata.name", "shop"),
        (r".metadata.labels.kubernetes\.io/os", "linux"),
        (r".metadata.labels['kubernetes\.io/os']", "linux"),
        (".metadata['name']", "shop"),
        // A dot in brackets separates fields, unless it is escaped.
        ("['metadata.name']", "shop"),
        (r".metadata.labels['a\ b']", "blank"),
        (".missing", ""),
        (".missing.deeper[0]", ""),
        (".spec.replicas.deeper", ""),
        (".", ""),
        (".metadata.labels", r#"{"a b":"blank","kubernetes.io/os":"linux"}"#),
        (".html", r#"{"a":"\u003cb\u003e\u0026"}"#),
    ]);
}

#[test]
fn scalars_are_printed_as_go_does() {
    check(&[
        (".spec.replicas", "3"),
        (".spec.ratio", "0.5"),
        (".spec.big", "1.23456785e+07"),
        (".spec.open", "true"),
        (".spec.none", "null"),
        (r#""text""#, "text"),
        ("5", "5"),
        ("+5", "5"),
        ("-2.5", "-2.5"),
        ("true", "true"),
    ]);
}

#[test]
fn elements_are_selected_by_indexes_and_ranges() {
    check(&[
        (".books[0].title", "Moby Dick"),
        (".books[-1].title", "Rings"),
        (".books[-2].title", "Sword"),
        (".books[0:2].title", "Moby Dick Sword"),
        (".books[:].title", "Moby Dick Sword Rings"),
        (".books[1:].title", "Sword Rings"),
        (".books[:-1].title", "Moby Dick Sword"),
        (".books[0:3:2].title", "Moby Dick Rings"),
        (".books[1:1].title", ""),
        (".books[].title", "Moby Dick"),
        (".books[*].title", "Moby Dick Sword Rings"),
        (".matrix[*][1]", "2 4"),
        (".matrix[*][*]", "1 2 3 4"),
        (".spec.none[0]", ""),
        (".matrix[1]", "[3,4]"),
    ]);
    refuse(&[
        (".books[3]", "array index out of bounds: index 3, length 3"),
        (".books[-4]", "array index out of bounds: index -1, length 3"),
        (".books[0:9]", "array index out of bounds: index 8, length 3"),
        (".books[2:1]", "starting index 2 is greater than ending index 1"),
        (".books[0:3:0]", "step must be > 0"),
        (".books[9223372036854775807]", "array index out of bounds: index 9223372036854775807, length 3"),
        (".metadata[0]", "map[string]interface {} is not array or slice"),
        (".metadata.name[*]", "string is not array or slice"),
    ]);
}

#[test]
fn wildcards_unions_and_descents() {
    check(&[
        (".matrix.*", "[1,2] [3,4]"),
        (".html.*", "<b>&"),
        ("['metadata','html'].*", r#"{"a b":"blank","kubernetes.io/os":"linux"} shop <b>&"#),
        (".books[0,2].title", "Moby Dick Rings"),
        (".books[0, 2].title", "Moby Dick Rings"),
        ("..title", "Moby Dick Sword Rings"),
        ("..books[0].title", "Moby Dick"),
        (".matrix..[0]", "[1,2] 1 3"),
    ]);
}

#[test]
fn filters_select_the_elements_that_match() {
    check(&[
        (r#".books[?(@.title=="Sword")].price"#, "12"),
        (".books[?(@.title=='Sword')].price", "12"),
        (".books[?(@.title != 'Sword')].price", "8 22"),
        (".books[?( @.title!='Sword' )].price", "8 22"),
        (".books[?(@.price>10)].price", "12 22"),
        (".books[?(@.price>=12)].price", "12 22"),
        (".books[?(@.price<12)].price", "8"),
        (".books[?(@.price<=12)].price", "8 12"),
        (".books[?(@.isbn)].title", "Sword Rings"),
        // An element beyond the end exists for a filter, as in Kubernetes.
        (".books[?(@.tags[0])].title", "Moby Dick Rings"),
        (".books[?(@.isbn=='x-2')].tags", "[]"),
        (r#".books[?(@.title=="a \" )")].price"#, ""),
    ]);
    refuse(&[
        (".books[?(@.title==3)]", "incompatible types for comparison"),
        (".books[?(@.tags==3)]", "invalid type for comparison"),
        (".books[?(@.price=!3)]", "unrecognized filter operator =!"),
        (".books[?(@.*==3)]", "can only compare one element at a time"),
        (
            ".metadata[?(@.name)]",
            r#"{"labels":{"a b":"blank","kubernetes.io/os":"linux"},"name":"shop"} is not array or slice and cannot be filtered"#,
        ),
        (".spec.none[?(@.name)]", "<nil> is not array or slice and cannot be filtered"),
    ]);
}

#[test]
fn malformed_paths_are_refused_with_the_reason() {
    refuse(&[
        (".books[", "unterminated array"),
        (".books[x]", "invalid array index x"),
        (".books[0:1:2:3]", "invalid array index 0:1:2:3"),
        (".books[-]", "array index - is not a number"),
        (".books[99999999999999999999]", "array index 99999999999999999999 is not a number"),
        (".books[?(@.a]", "unterminated filter"),
        (".books[?(@.a).b", "unclosed array expect ]"),
        (".books[?(@.a==)]", "unrecognized character in action: U+003D '='"),
        (".a(b) (c)", "unrecognized character in action: U+0028 '('"),
        (".a\nb", "unclosed action"),
        ("....a", "invalid multiple recursive descent"),
        (r#""open"#, "unterminated quoted string"),
        (r#""\q""#, r#"unquote string "\q" error invalid syntax"#),
        ("1.2.3", "cannot parse number 1.2.3"),
        ("word", "unrecognized identifier word"),
        (".metadata.labels['a b']", "unrecognized identifier b"),
        ("end", "not in range, nothing to end"),
        (".a{b", "unrecognized character in action: U+007B '{'"),
    ]);
}

#[test]
fn quoted_texts_have_escapes() {
    check(&[(r#""\t\"\\\x41\u00e9\U0001F600\101""#, "\t\"\\Aé😀A"), (r"'it\'s'", "it's")]);
    assert!(printed(r#""\u12""#).is_err());
    assert!(printed(r#""\ud800""#).is_err());
}

#[test]
fn the_first_action_is_the_path() {
    check(&[(".metadata.name} and {.spec.replicas", "shop"), (".metadata.name}}", "shop")]);
    refuse(&[(".metadata.name}{.books[7]", "array index out of bounds: index 7, length 3")]);
}

#[test]
fn results_keep_their_types() {
    let value = store();
    let path = JsonPath::parse(".spec.replicas").unwrap();
    let [Found::Number(number)] = path.find(&value).unwrap()[..] else { panic!("not one number") };
    assert_eq!(number.as_i64(), Some(3));
    let path = JsonPath::parse("$").unwrap();
    assert_eq!(path.find(&value).unwrap()[0].to_value(), value);
}

#[test]
fn hostile_paths_are_bounded() {
    let mut deep = json!(1);
    for _ in 0..400 {
        deep = json!({"a": deep, "b": [1, 2, 3]});
    }
    let paths = [
        "..a..b..a..b".to_owned(),
        "..a.*".repeat(50),
        "['a','a','a','a']".repeat(40),
        format!("..b{}", "[0,1,2,0,1,2]".repeat(30)),
    ];
    let started = Instant::now();
    for path in paths {
        // Found or refused, but soon.
        let _ = JsonPath::parse(&path).map(|path| path.find(&deep).map(|found| found.len()));
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn nesting_is_bounded() {
    let mut path = String::new();
    for _ in 0..10_000 {
        write!(path, "[?(@").unwrap();
    }
    assert!(JsonPath::parse(&path).is_err());
    let nested = format!("{}@{}", "[?(@.a".repeat(1_000), ")]".repeat(1_000));
    let error = JsonPath::parse(&nested).unwrap_err();
    assert!(!error.to_string().is_empty());
}
