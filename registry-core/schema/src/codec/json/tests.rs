use registry_meta::budget::Budget;
use serde_json::json;

use super::*;
use crate::FieldIssue;

fn duplicate(path: &str) -> FieldIssue {
    FieldIssue::Duplicate(path.to_owned())
}

fn read(text: &str) -> Result<Decoded, DecodeError> {
    decode(text.as_bytes(), &Limits::default())
}

#[test]
fn duplicates_are_noted_with_their_paths() {
    let table: &[(&str, Value, &[&str])] = &[
        (r#"{"data":{"k":"1","k":"2"}}"#, json!({"data": {"k": "2"}}), &["data.k"]),
        (r#"{"data":{"a":"1"},"data":{"b":"2"}}"#, json!({"data": {"a": "1", "b": "2"}}), &["data"]),
        (
            r#"{"spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}]}}"#,
            json!({"spec": {"containers": [{"name": "a"}, {"name": "c"}]}}),
            &["spec.containers[1].name"],
        ),
        (r#"{"a":[[{"x":1,"x":2,"x":3}]],"a":0}"#, json!({"a": 0}), &["a[0][0].x", "a"]),
        (r#"{"a":1,"A":2}"#, json!({"a": 1, "A": 2}), &[]),
    ];
    for (text, value, duplicates) in table {
        let decoded = read(text).unwrap();
        assert_eq!(&decoded.value, value, "{text}");
        let duplicates: Vec<_> = duplicates.iter().map(|path| duplicate(path)).collect();
        assert_eq!(decoded.duplicates, duplicates, "{text}");
    }
}

#[test]
fn hostile_duplicates_stay_small() {
    let many = format!("{{{}\"k\":0}}", "\"k\":0,".repeat(100_000));
    assert_eq!(read(&many).unwrap().duplicates, [duplicate("k")]);
    let distinct = (0..100_000).map(|n| format!("\"k{}\":0,", n / 2)).collect::<Vec<_>>().concat();
    assert_eq!(read(&format!("{{{distinct}\"z\":0}}")).unwrap().duplicates.len(), 100);
    let long = "k".repeat(1 << 20);
    let fields = (0..100).map(|n| format!("\"a{n}\":0,\"a{n}\":0,")).collect::<Vec<_>>().concat();
    let nested = read(&format!("{{\"{long}\":{{{fields}\"z\":0}}}}")).unwrap();
    assert_eq!(nested.duplicates.len(), 1);
}

#[test]
fn numbers_are_kept_as_go_keeps_them() {
    let table = [
        ("9007199254740993", "9007199254740993"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775807", "9223372036854775807"),
        ("1.0", "1"),
        ("1e10", "10000000000"),
        ("-0.0", "0"),
        ("1.5", "1.5"),
        ("1152921504606846976.0", "1152921504606847000"),
        ("18446744073709551615", "1.8446744073709552e+19"),
        ("1e-7", "1e-7"),
    ];
    for (text, written) in table {
        assert_eq!(read(text).unwrap().value.to_string(), written, "{text}");
    }
}

#[test]
fn whole_floats_are_kept_if_they_are_asked_for() {
    let limits = Limits { keeps_floats: true, ..Limits::default() };
    let table = [("3.0", "3.0"), ("0.0", "0.0"), ("1E1", "10.0"), ("1.5", "1.5"), ("3", "3"), ("-0", "0")];
    // With white space, which the general decoder reads.
    for space in ["", " "] {
        for (text, kept) in table {
            let text = format!("{{\"a\":{space}[{text}]}}");
            let mut decoded = decode(text.as_bytes(), &limits).unwrap();
            assert_eq!(decoded.value["a"][0].to_string(), kept, "{text}");
            assert!(decoded.has_floats || !kept.contains('.'), "{text}");
            shorten_floats(&mut decoded.value);
            assert_eq!(decoded.value, read(&text).unwrap().value, "{text}");
        }
    }
}

#[test]
fn malformed_bodies_are_refused_in_gos_words() {
    let table = [
        ("", "unexpected end of JSON input"),
        ("{\"apiVersion\": \"v1\", ", "unexpected end of JSON input"),
        ("zork", "invalid character 'z' looking for beginning of value"),
        ("{\"a\":1}x", "invalid character 'x' after top-level value"),
        ("{} {}", "invalid character '{' after top-level value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1\n;}", "invalid character ';' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("\"\u{1}\"", r"invalid character '\x01' in string literal"),
        ("\0", r"invalid character '\x00' looking for beginning of value"),
        ("{} \u{b}", r"invalid character '\v' after top-level value"),
        ("[1\u{7f}]", r"invalid character '\x7f' after array element"),
        ("{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
        ("[\\]", r"invalid character '\\' looking for beginning of value"),
        ("[1\u{e9}]", "invalid character 'Ã' after array element"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("1e999", "number out of range"),
    ];
    for (text, message) in table {
        assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(128)).is_ok());
    assert_eq!(read(&nested(129)).unwrap_err().to_string(), "exceeded max depth");
    assert!(read(&"[".repeat(1_000_000)).is_err());
    assert!(read(&"{\"a\":".repeat(500_000)).is_err());
}

#[test]
fn a_text_that_nests_too_deep_is_refused_as_such_and_not_as_too_large() {
    let refused = |text: &str| {
        let budget = Budget::default();
        let refused = decode(text.as_bytes(), &Limits::within(&budget)).unwrap_err().to_string();
        (refused, budget.exhausted().is_some())
    };
    let nested = format!("{}{}", "[".repeat(1_500_000), "]".repeat(1_500_000));
    let too_deep = ("exceeded max depth".to_owned(), false);
    assert_eq!(refused(&nested), too_deep);
    assert_eq!(refused(&"[".repeat(3_000_000)), too_deep);
    // Brackets in strings, and lists one beside the other, are not deep.
    let wide = format!("[{}[0]]", r#"["\"[[["],"#.repeat(300_000));
    let too_large = ("the request expands to more than 48 MiB".to_owned(), true);
    let many = format!("[{}[0]]", "[0],".repeat(1_000_000));
    assert_eq!(refused(&many), too_large);
    assert!(!nests_deeper(wide.as_bytes(), 2));
}

#[test]
fn text_that_is_not_unicode_is_read_as_by_go() {
    let replaced: &[(&[u8], &str)] = &[
        (br#""cut \ud83d""#, "cut \u{fffd}"),
        (br#""\udcff""#, "\u{fffd}"),
        (br#""x\uDCFFy""#, "x\u{fffd}y"),
        (br#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (br#""\ud83d\n\"\\ud83d""#, "\u{fffd}\n\"\\ud83d"),
        (br#""\ud83d\\ude00""#, "\u{fffd}\\ude00"),
        (b"\"x\xff\"", "x\u{fffd}"),
        // One for each byte: the first two bytes of a character of three, a surrogate in UTF-8, and an overlong slash.
        (b"\"\xe2\x82\"", "\u{fffd}\u{fffd}"),
        (b"\"\xe2\x82\xac\xed\xa0\xbd\"", "\u{20ac}\u{fffd}\u{fffd}\u{fffd}"),
        (b"\"\xc0\xaf\\ud83d\"", "\u{fffd}\u{fffd}\u{fffd}"),
    ];
    for (text, expected) in replaced {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(decode(text, &Limits::default()).unwrap().value, *expected, "{shown}");
        // Also in names, and in text that the fast reader leaves to the general one.
        let field = [b"{ ", *text, b" : [", *text, b"]}"].concat();
        let value = decode(&field, &Limits::default()).unwrap().value;
        assert_eq!(value, json!({*expected: [expected]}), "{shown}");
        assert!(decode_unicode(text, &Limits::default()).is_err(), "{shown}");
    }

    for text in
        [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\ufffd""#, "\"\u{fffd}\u{20ac}\"", r#"{"a":"\u0041"}"#]
    {
        assert!(matches!(replacement::replaced(text.as_bytes()), Cow::Borrowed(_)), "{text}");
        assert!(read(text).is_ok(), "{text}");
    }

    // Everything else is refused as ever.
    for (text, expected) in [
        (&b"\xff"[..], "invalid character '\u{ff}' looking for beginning of value"),
        (b"{\"a\":\"\xff\"\xff}", "invalid character '\u{ff}' after object key:value pair"),
        (br#"{"a":"\ud83d",}"#, "invalid character '}' looking for beginning of object key string"),
        (br#"{"a":"\ud83d"#, "unexpected end of JSON input"),
        (br#"{"a":"\ud83"}"#, "invalid character '\"' in string escape code"),
        (b"\"\xff\t\"", "invalid character '\\t' in string literal"),
    ] {
        let error = decode(text, &Limits::default()).unwrap_err().to_string();
        assert_eq!(error, expected, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn replaced_names_are_duplicates_and_take_from_the_budget() {
    let text = br#"{"a":{"\ud83d":1,"\udc00":2},"b":1,"b":2,"z":"\ud83d"}"#;
    let decoded = decode(text, &Limits::default()).unwrap();
    assert_eq!(decoded.value, json!({"a": {"\u{fffd}": 2}, "b": 2, "z": "\u{fffd}"}));
    let mut issues = decoded.duplicates;
    issues.reverse();
    sort_as_written(text, &mut issues);
    assert_eq!(issues, [duplicate("a.\u{fffd}"), duplicate("b")]);

    let deep = [&b"[".repeat(200)[..], b"\"\xff\"", &b"]".repeat(200)].concat();
    assert_eq!(decode(&deep, &Limits::default()).unwrap_err().to_string(), "exceeded max depth");

    let hostile = [b"\"", &b"\xff".repeat(100_000)[..], b"\""].concat();
    let budget = Budget::with_bytes(150_000);
    assert!(matches!(decode(&hostile, &Limits::within(&budget)), Err(DecodeError::Exhausted(_))));

    // The value takes more than is left, the text with the replacement does not.
    let large = [b"[\"\xff\"", &b",[]".repeat(10_000)[..], b"]"].concat();
    let budget = Budget::with_bytes(100_000);
    assert!(matches!(decode(&large, &Limits::within(&budget)), Err(DecodeError::Exhausted(_))));
}
