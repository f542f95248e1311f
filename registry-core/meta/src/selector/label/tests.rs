use serde_json::json;

use super::*;

#[test]
fn reads_and_writes_the_grammar() {
    let table = [
        ("", ""),
        ("  ", ""),
        (" app = a ", "app=a"),
        ("app==a", "app=a"),
        ("app!=a", "app!=a"),
        ("app=", "app="),
        ("b,a", "a,b"),
        ("!tier", "!tier"),
        ("! tier , app in (b,a,b)", "app in (a,b),!tier"),
        ("app notin (a)", "app!=a"),
        ("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z!="),
        ("x in (,)", "x="),
        ("x in (a,)", "x in (,a)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("example.com/x>5,y<7", "example.com/x>5,y<7"),
    ];
    for (text, canonical) in table {
        let parsed = LabelSelector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed.to_string(), canonical, "{text}");
        assert_eq!(LabelSelector::parse(canonical).unwrap(), parsed, "{text}");
    }
}

#[test]
fn refuses_in_kubernetes_words() {
    let table = [
        ("app=>a", "unable to parse requirement: found '>', expected: identifier"),
        ("app=a,", "found '', expected: identifier after ','"),
        ("app in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("app in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"),
        ("app in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("app in (a,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("app in a", "unable to parse requirement: found 'a' expected: '('"),
        ("app a", "unable to parse requirement: found 'a', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ];
    for (text, message) in table {
        assert_eq!(LabelSelector::parse(text).unwrap_err().to_string(), message, "{text}");
    }
    let key = LabelSelector::parse("a/b/c=1").unwrap_err().to_string();
    assert!(
        key.starts_with(
            "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must"
        ),
        "{key}"
    );
    let value = LabelSelector::parse("a=-").unwrap_err().to_string();
    assert!(
        value.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label"),
        "{value}"
    );
}

#[test]
fn matches_labels() {
    let label = |key: &str| match key {
        "app" => Some("a"),
        "n" => Some("5"),
        "empty" => Some(""),
        _ => None,
    };
    for (text, expected) in [
        ("", true),
        ("app=a", true),
        ("app=b", false),
        ("app in (a,b),n", true),
        ("app!=b,other!=x", true),
        ("app notin (a,b)", false),
        ("empty=", true),
        ("other=", false),
        ("!other", true),
        ("!app", false),
        ("n>4,n<6", true),
        ("n>5", false),
        ("app>1", false),
        ("other<1", false),
    ] {
        assert_eq!(LabelSelector::parse(text).unwrap().matches(label), expected, "{text}");
    }
}

#[test]
fn reads_selector_objects() {
    let full = json!({
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "a", "operator": "NotIn", "values": ["y", "x"]},
            {"key": "c", "operator": "Exists"},
        ],
    });
    assert_eq!(LabelSelector::from_object(&full).unwrap().to_string(), "a notin (x,y),b=1,c");
    assert!(LabelSelector::from_object(&json!({})).unwrap().matches(|_| None));
    assert!(!LabelSelector::from_object(&json!(null)).unwrap().matches(|_| Some("")));
    for (expression, message) in [
        (json!({"key": "a", "operator": "Zork"}), "\"Zork\" is not a valid label selector operator"),
        (
            json!({"key": "a", "operator": "In"}),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
    ] {
        let selector = json!({"matchExpressions": [expression]});
        assert_eq!(LabelSelector::from_object(&selector).unwrap_err().to_string(), message);
    }
}
