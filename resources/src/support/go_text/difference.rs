//! The difference between two values, as messages about values that may not change show it: a unified difference of their
//! indented JSON.
//!
//! Kubernetes concept: `diff.Diff` of `k8s.io/apimachinery/pkg/util/diff`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Lines around a change that are shown.
const CONTEXT: usize = 3;
/// Maximum number of lines between the first and the last change that are compared with each other; if there are more,
/// all are shown as changed.
const MAX_LINES: usize = 1_000;

/// A run of lines of both sides: equal, or the one replaces the other.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    equal: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the difference between two values that Go's encoder wrote.
pub(crate) fn difference(old: &str, new: &str) -> String {
    let (old, new) = (indented(old), indented(new));
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let mut text = String::new();
    for hunk in hunks(&runs(&old, &new)) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let old_lines = shown_range(first.old.start..last.old.end);
        let new_lines = shown_range(first.new.start..last.new.end);
        let _ = writeln!(text, "@@ -{old_lines} +{new_lines} @@");
        for run in &hunk {
            if run.equal {
                write_lines(' ', &old, &run.old, &mut text);
            } else {
                write_lines('-', &old, &run.old, &mut text);
                write_lines('+', &new, &run.new, &mut text);
            }
        }
    }
    text
}

fn write_lines(sign: char, lines: &[&str], range: &Range<usize>, text: &mut String) {
    for line in lines.get(range.clone()).into_iter().flatten() {
        let _ = writeln!(text, "{sign}{line}");
    }
}

fn shown_range(range: Range<usize>) -> String {
    match range.len() {
        1 => format!("{}", range.start + 1),
        0 => format!("{},0", range.start),
        length => format!("{},{length}", range.start + 1),
    }
}

/// Indents compact JSON by a space for each level, as Go does.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut letters = json.chars().peekable();
    let new_line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', depth));
    };
    while let Some(letter) = letters.next() {
        if in_text {
            text.push(letter);
            in_text = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            continue;
        }
        match letter {
            '{' | '[' => {
                text.push(letter);
                if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    new_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(letter);
            }
            ',' => {
                text.push(letter);
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            '"' => {
                in_text = true;
                text.push(letter);
            }
            other => text.push(other),
        }
    }
    text
}

// === what changed ===

/// Returns the runs of two texts in order.
fn runs(old: &[&str], new: &[&str]) -> Vec<Run> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut matches = vec![(0, 0, head)];
    if old_end - head <= MAX_LINES && new_end - head <= MAX_LINES {
        collect_matches(old, new, (head..old_end, head..new_end), &mut matches);
    }
    matches.push((old_end, new_end, tail));
    let mut runs: Vec<Run> = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for (from_old, from_new, length) in matches {
        if from_old > at_old || from_new > at_new {
            runs.push(Run { equal: false, old: at_old..from_old, new: at_new..from_new });
        }
        (at_old, at_new) = (from_old + length, from_new + length);
        match runs.last_mut() {
            _ if length == 0 => {}
            Some(last) if last.equal => {
                last.old.end = at_old;
                last.new.end = at_new;
            }
            _ => runs.push(Run { equal: true, old: from_old..at_old, new: from_new..at_new }),
        }
    }
    runs
}

/// Appends the matching blocks of two ranges: the longest one, and those before and after it.
fn collect_matches(
    old: &[&str],
    new: &[&str],
    whole: (Range<usize>, Range<usize>),
    matches: &mut Vec<(usize, usize, usize)>,
) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    let mut pending = vec![whole];
    let mut found = Vec::new();
    while let Some((old_range, new_range)) = pending.pop() {
        let (from_old, from_new, length) = longest_match(old, &places, &old_range, &new_range);
        if length > 0 {
            found.push((from_old, from_new, length));
            pending.push((old_range.start..from_old, new_range.start..from_new));
            pending.push((from_old + length..old_range.end, from_new + length..new_range.end));
        }
    }
    found.sort_unstable();
    matches.extend(found);
}

fn longest_match(
    old: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    old_range: &Range<usize>,
    new_range: &Range<usize>,
) -> (usize, usize, usize) {
    let mut best = (old_range.start, new_range.start, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (offset, line) in old.get(old_range.clone()).into_iter().flatten().enumerate() {
        let mut next = HashMap::new();
        for place in places.get(line).into_iter().flatten().filter(|place| new_range.contains(place)) {
            let before = place.checked_sub(1).and_then(|before| lengths.get(&before)).copied();
            let length = before.unwrap_or_default() + 1;
            next.insert(*place, length);
            if length > best.2 {
                best = (old_range.start + offset + 1 - length, place + 1 - length, length);
            }
        }
        lengths = next;
    }
    best
}

/// Groups runs to hunks: changes with the equal lines around them.
fn hunks(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut runs = runs.to_vec();
    if let Some(first) = runs.first_mut().filter(|run| run.equal) {
        first.old.start = first.old.start.max(first.old.end.saturating_sub(CONTEXT));
        first.new.start = first.new.start.max(first.new.end.saturating_sub(CONTEXT));
    }
    if let Some(last) = runs.last_mut().filter(|run| run.equal) {
        last.old.end = last.old.end.min(last.old.start + CONTEXT);
        last.new.end = last.new.end.min(last.new.start + CONTEXT);
    }
    let mut hunks = Vec::new();
    let mut hunk: Vec<Run> = Vec::new();
    for run in runs {
        if run.equal && run.old.len() > 2 * CONTEXT {
            hunk.push(Run {
                equal: true,
                old: run.old.start..run.old.start + CONTEXT,
                new: run.new.start..run.new.start + CONTEXT,
            });
            hunks.push(std::mem::take(&mut hunk));
            hunk.push(Run {
                equal: true,
                old: run.old.end - CONTEXT..run.old.end,
                new: run.new.end - CONTEXT..run.new.end,
            });
        } else {
            hunk.push(run);
        }
    }
    hunks.push(hunk);
    hunks.retain(|hunk| hunk.iter().any(|run| !run.equal));
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_three_lines_around_them() {
        let old = r#"{"a":["x","y"],"b":null,"c":{"d":1},"e":{},"f":"q","g":[],"h":"one"}"#;
        let new = r#"{"a":["x"],"b":null,"c":{"d":1},"e":{},"f":"q","g":[],"h":"two"}"#;
        let expected = concat!(
            "@@ -1,7 +1,6 @@\n {\n  \"a\": [\n-  \"x\",\n-  \"y\"\n+  \"x\"\n  ],\n  \"b\": null,\n  \"c\": {\n",
            "@@ -10,5 +9,5 @@\n  \"e\": {},\n  \"f\": \"q\",\n  \"g\": [],\n- \"h\": \"one\"\n+ \"h\": \"two\"\n }\n"
        );
        assert_eq!(difference(old, new), expected);
        assert_eq!(difference(old, old), "");
    }

    #[test]
    fn large_differences_cost_little() {
        let list = |from: usize| {
            let elements: Vec<_> = (from..from + 200_000).map(|number| (number % 7).to_string()).collect();
            format!("[{}]", elements.join(","))
        };
        let started = std::time::Instant::now();
        assert!(difference(&list(0), &list(3)).starts_with("@@ -1,200002 +1,200002 @@\n"));
        assert!(started.elapsed().as_secs() < 10);
    }
}
