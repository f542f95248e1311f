use std::time::{Duration, Instant};

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    let parsed = Pattern::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    parsed.is_match(text, &Budget::default()).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

fn found(pattern: &str, text: &str) -> Vec<Range<usize>> {
    Pattern::parse(pattern).unwrap().find_all(text, usize::MAX, &Budget::default()).unwrap()
}

#[test]
fn classes_are_about_ascii() {
    assert!(matches(r"^\d+$", "42") && !matches(r"^\d+$", "٣"));
    assert!(matches(r"^\w+$", "a_1") && !matches(r"^\w+$", "é"));
    assert!(matches(r"^[\w.-]+$", "a.b-c") && !matches(r"^[\w.-]+$", "é"));
    assert!(matches(r"^[^\s]+$", "\u{a0}") && matches(r"^\S$", "é"));
    assert!(matches(r"\bb\b", "éb") && matches(r"^\p{Greek}\p{L}$", "αé"));
    assert!(!matches(r"\B", "aéb") && matches(r"(?m)^é$", "a\né\n") && !matches(r"^é$", "a\né\n"));
}

#[test]
fn syntax_that_only_the_crate_understands_stands_for_itself() {
    assert!(matches("^[[a]+$", "[a"));
    assert!(matches("^[a&&b]+$", "&ab"));
    assert!(matches("^[+--]$", ","));
    assert!(matches("^[]a]+$", "]a") && matches("^[[:alpha:]_]+$", "b_"));
    assert!(matches("^a{,3}{$", "a{,3}{") && matches("^a{2,3}$", "aa"));
    assert!(matches(r"^\Qa.b\E+$", "a.bb") && matches(r"^\<\>$", "<>"));
}

#[test]
fn expressions_that_are_too_large_are_errors() {
    let error = |pattern: &str| Pattern::parse(pattern).unwrap_err().to_string();
    assert_eq!(error("((a{100}){100}){100}"), "error parsing regexp: invalid repeat count: `{100}`");
    assert!(error("(").contains("missing closing )"));
    assert!(Pattern::parse(&"(".repeat(100_000)).is_err());
    let large = "(a{1000}b{1000}c{1000}d{1000})".repeat(900);
    assert_eq!(error(&large), format!("error parsing regexp: expression too large: `{large}`"));
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(
        error(&nested(1_000)),
        format!("error parsing regexp: expression nests too deeply: `{}`", nested(1_000))
    );
    assert!(matches(&nested(999), "a"));
}

/// Patterns that Go accepts, as their compilation in other engines takes long.
const LARGE: [(&str, &str, bool); 8] = [
    (r"^(\pL{50}){9}$", "é", false),
    (r"^\pL{1000}$", "é", false),
    (r"^(.{10}){100}$", "x", false),
    (r"^[^\p{Greek}]{1000}$", "α", false),
    (r"^(\p{L}|\p{N}|\p{P}){0,1000}$", "aé1.", true),
    (r"(?i)^(\pL{50}){9}$", "é", false),
    (r"^(((\pL{10}){10}){10})?$", "", true),
    (r"[^a]{1000}", "b", false),
];

#[test]
fn large_repetitions_are_matched_as_in_go() {
    for (pattern, text, expected) in LARGE {
        assert_eq!(matches(pattern, text), expected, "{pattern}");
    }
    assert!(matches(r"^(\pL{50}){9}$", &"é".repeat(450)) && !matches(r"^(\pL{50}){9}$", &"é".repeat(451)));
    assert!(matches(r"^\pL{1000}$", &"ж".repeat(1000)) && !matches(r"^\pL{1000}$", &"1".repeat(1000)));
}

#[test]
fn operators_nested_deeper_than_the_engine_goes_fail_when_they_are_matched() {
    let nested = |depth: usize| format!("{}a{}", "(?:a".repeat(depth), ")?".repeat(depth));
    assert!(matches(&nested(50), "a"));
    let deep = Pattern::parse(&nested(450)).unwrap();
    let failed = deep.is_match("a", &Budget::default()).unwrap_err();
    assert!(failed.to_string().starts_with("error parsing regexp: expression nests too deeply"), "{failed}");
}

#[test]
fn matches_are_found_from_left_to_right() {
    assert_eq!(found("a+", "éaaba"), [2..4, 5..6]);
    assert_eq!(found("a|ab", "abab"), [0..1, 2..3]);
    assert_eq!(found("ab|a", "aba"), [0..2, 2..3]);
    assert_eq!(found("a*", "baac"), [0..0, 1..3, 4..4]);
    assert_eq!(found("", "éb"), [0..0, 2..2, 3..3]);
    assert_eq!(found(r"\b", "aé b"), [0..0, 1..1, 4..4, 5..5]);
    assert!(found("x", "abc").is_empty());
    assert_eq!(found("(?m)^.?$", "a\n\nb"), [0..1, 2..2, 3..4]);
    assert_eq!(found("a.*?c", "abcabc"), [0..3, 3..6]);
}

/// The same answers as those of the `regex` crate, for generated patterns that both write alike.
#[test]
fn answers_are_those_of_the_regex_crate() {
    let atoms =
        ["a", "b", ".", "[^a]", "é", r"\pL", "(?i:É)", "[a-cé-ü]", r"\n", "^", "$", "(?m:^)", "(?m:$)"];
    let operators = ["", "*", "+?", "{2}", "{0,2}", "?"];
    let texts = ["", "a", "ab", "éé", "a\nb", "bÉaé", "abcüß1", "\n\n", "aaaa"];
    let mut number = 0;
    for first in atoms {
        for second in atoms {
            number += 1;
            let at = |shift: usize| operators.get((number + shift) % operators.len()).copied().unwrap();
            for joined in ["", "|"] {
                let pattern = format!("(?:{first}){}{joined}(?:{second}){}", at(0), at(3));
                let reference = Regex::new(&pattern).unwrap();
                for text in texts {
                    let expected: Vec<_> = reference.find_iter(text).map(|found| found.range()).collect();
                    assert_eq!(found(&pattern, text), expected, "{pattern} {text:?}");
                    assert_eq!(matches(&pattern, text), !expected.is_empty(), "{pattern} {text:?}");
                }
            }
        }
    }
}

#[test]
fn matching_is_linear_in_the_text_or_ends_with_the_budget() {
    let text = "ab".repeat(500_000);
    // Its automaton has 2^999 states.
    let hostile = Pattern::parse("[ab]*a[ab]{999}c").unwrap();
    let outcome = hostile.is_match(&text, &Budget::default());
    let steps = Err(MatchError::Exhausted(Exhausted::Steps));
    assert!(outcome == Ok(false) || outcome == steps, "{outcome:?}");
    // Each search for a match reads all that is left.
    let quadratic = Pattern::parse("a.*c|b").unwrap();
    let outcome = quadratic.find_all(&text, usize::MAX, &Budget::default());
    assert_eq!(outcome, Err(MatchError::Exhausted(Exhausted::Steps)));
    for pattern in ["^(a|b)*$", "^.*$", r"^\pL+$", "(a|b)*?b$", "^[a-z]{1,1000}"] {
        assert!(matches(pattern, &text), "{pattern}");
    }
    let late = Budget::until(Some(Instant::now().checked_sub(Duration::from_secs(1)).unwrap()));
    let pattern = Pattern::parse("^(a|b)*$").unwrap();
    assert_eq!(pattern.is_match(&text, &late), Err(MatchError::Exhausted(Exhausted::Deadline)));
}

/// Each of these takes milliseconds in another engine's compiler; a pattern may have as many as fit into a body.
#[test]
fn patterns_whose_classes_take_long_are_not_compiled_beyond_the_budget() {
    let wide = [
        r"[\x{0}-\x{10ffff}]",
        r"[^a-\x{ffff}b]{50}",
        r"[\PL]",
        r"[\W]",
        "[[:^alpha:]]",
        r"\p{Any}",
        r"\P{Greek}",
    ];
    let wide = wide.map(|class| format!("(?i){}", class.repeat(1_000)));
    let exhausted = Err(MatchError::Exhausted(Exhausted::Steps));
    for pattern in wide {
        let outcome = Pattern::parse(&pattern).unwrap().is_match("x", &Budget::default());
        assert!(outcome == exhausted, "{}", pattern.chars().take(30).collect::<String>());
    }
    // Each class is translated to the letters of all ranges.
    let classes: Vec<_> =
        (0x400..0x2000).filter_map(char::from_u32).map(|letter| format!("[a-{letter}]")).collect();
    let several = classes.concat();
    let budget = Budget::default();
    assert!((0..10).any(|_| Pattern::parse(&several).unwrap().is_match("x", &budget) == exhausted));
    for usual in
        [r"(?i)^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", r"(?i)^[\W_]+$", r"(?i)[^\x00-\x{ffff}]", r"(?i)^\PL$"]
    {
        assert!(Pattern::parse(usual).unwrap().is_match("x", &Budget::default()).is_ok(), "{usual}");
    }
}

#[test]
fn expressions_are_checked_in_linear_time() {
    for piece in ["{", r"\p{", "{1,", "{é", "[[:", "[", r"\pL", "(a{2}", "a{1000}", r"\Qa", "(?i)", "(?P<a>"]
    {
        let text = piece.repeat(200_000);
        // A quadratic check of 600 KB takes minutes.
        let _ = Pattern::check(&text);
    }
}
