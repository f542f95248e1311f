//! Syntax errors in cel-go's words.

use super::*;

fn errors(source: &str) -> String {
    match parse(source, Macros { optionals: true, two_variables: true, bindings: false, list_sort_by: true })
    {
        Ok(_) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

const EXPECTED: &str = "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

#[test]
fn syntax_errors_read_as_antlr_words_them() {
    let cases = [
        ("1 + +", vec![(5, format!("Syntax error: mismatched input '+' {EXPECTED}")), (6, format!("Syntax error: mismatched input '<EOF>' {EXPECTED}"))]),
        ("*@a | b", vec![(1, format!("Syntax error: extraneous input '*' {EXPECTED}")), (2, "Syntax error: token recognition error at: '@'".into()), (5, "Syntax error: token recognition error at: '| '".into()), (7, "Syntax error: extraneous input 'b' expecting <EOF>".into())]),
        ("{", vec![(2, "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}".into())]),
        ("Message(){}", vec![(10, "Syntax error: mismatched input '{' expecting <EOF>".into())]),
        ("1 + $", vec![(5, "Syntax error: token recognition error at: '$'".into()), (6, format!("Syntax error: mismatched input '<EOF>' {EXPECTED}"))]),
        ("{\"a\": 1}.\"a\"", vec![(10, "Syntax error: no viable alternative at input '.\"a\"'".into())]),
        ("func{{a}}", vec![(6, "Syntax error: extraneous input '{' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}".into()), (8, "Syntax error: mismatched input '}' expecting ':'".into()), (9, "Syntax error: extraneous input '}' expecting <EOF>".into())]),
        ("in", vec![(1, format!("Syntax error: mismatched input 'in' {EXPECTED}")), (3, format!("Syntax error: mismatched input '<EOF>' {EXPECTED}"))]),
        ("a.true", vec![(3, "Syntax error: mismatched input 'true' expecting IDENTIFIER".into())]),
        ("?!#$", vec![(1, format!("Syntax error: extraneous input '?' {EXPECTED}")), (3, "Syntax error: token recognition error at: '#'".into()), (4, "Syntax error: token recognition error at: '$'".into()), (5, format!("Syntax error: extraneous input '<EOF>' {EXPECTED}"))]),
        ("size(a", vec![(7, "Syntax error: missing ')' at '<EOF>'".into())]),
    ];
    for (source, expected) in cases {
        let found: Vec<_> = match parse(source, Macros::default()) {
            Ok(_) => Vec::new(),
            Err(errors) => errors
                .errors()
                .iter()
                .map(|error| (error.location.column + 1, error.message.clone()))
                .collect(),
        };
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn an_error_shows_its_line_and_a_caret() {
    assert_eq!(
        errors("      '😁' in ['😁', '😑', '😦']\n\t\t\t&& in.😁"),
        format!(
            "ERROR: <input>:2:7: Syntax error: extraneous input 'in' {EXPECTED}\n |    && in.😁\n | ......^\n\
             ERROR: <input>:2:10: Syntax error: token recognition error at: '😁'\n |    && in.😁\n | .........＾\n\
             ERROR: <input>:2:11: Syntax error: no viable alternative at input '.'\n |    && in.😁\n | .........．^"
        )
    );
}

#[test]
fn macros_refuse_arguments_that_are_no_names() {
    assert_eq!(errors("has(m)"), "ERROR: <input>:1:5: invalid argument to has() macro\n | has(m)\n | ....^");
    assert!(errors("1.all(2, 3)").starts_with("ERROR: <input>:1:7: argument must be a simple name\n"));
    assert!(
        errors("m.filter(__result__, false)")
            .starts_with("ERROR: <input>:1:10: iteration variable overwrites accumulator variable\n")
    );
    assert!(errors("m.all(a, a, true)").starts_with("ERROR: <input>:1:10: duplicate variable name: a\n"));
    assert_eq!(errors("[1, 2, 3].map(var, var * var)").matches("reserved identifier: var").count(), 3);
}

#[test]
fn literals_out_of_range_are_errors() {
    assert!(errors("0xFFFFFFFFFFFFFFFFF").starts_with("ERROR: <input>:1:1: invalid int literal\n"));
    assert!(errors("0xFFFFFFFFFFFFFFFFFu").starts_with("ERROR: <input>:1:1: invalid uint literal\n"));
    assert!(errors("1.99e90000009").starts_with("ERROR: <input>:1:1: invalid double literal\n"));
    assert_eq!(errors("-9223372036854775808 == 0x7f - 1 && .5 < 1e3"), "");
}

#[test]
fn depth_length_and_copies_are_limited() {
    let nested = |depth| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(errors(&nested(249)), "");
    assert_eq!(errors(&nested(250)), "ERROR: <input>:-1:0: expression recursion limit exceeded: 250");
    assert_eq!(
        errors(&format!("a{}", " == a".repeat(251))),
        "ERROR: <input>:-1:0: max recursion depth exceeded"
    );
    assert_eq!(errors(&format!("a{}", " || a".repeat(2000))), "");
    assert!(
        errors(&"1+".repeat(50_001))
            .contains("expression code point size exceeds limit: size: 100002, limit 100000")
    );
    let copies = format!("a{}", ".optMap(x, x)".repeat(60));
    assert!(errors(&copies).contains("expands to more than 200000 nodes"), "{}", errors(&copies));
}
