//! The difference of two values, as messages about values that may not change show it: a unified diff of their indented
//! JSON.
//!
//! The lines are matched as Python's `difflib` does, because Kubernetes does it so.
//!
//! Kubernetes concept: `diff.Diff` of `k8s.io/apimachinery/pkg/util/diff`.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

/// Lines of context.
const CONTEXT: usize = 3;
/// Texts with more lines are not matched line by line: that would take too long.
const MAX_LINES: usize = 3_000;
/// Texts with fewer lines have no lines that are too frequent to be matched.
const POPULAR_FROM: usize = 200;

/// Returns the difference of two values that Go's encoder wrote.
pub(crate) fn difference(old: &str, new: &str) -> String {
    unified(&indented(old), &indented(new))
}

/// Returns the difference of two values of an internal type.
pub(crate) fn value_difference(before: Option<&Value>, now: Option<&Value>, shape: &str) -> String {
    difference(&super::text(before, shape), &super::text(now, shape))
}

/// A part of two texts: equal, or replaced.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    is_equal: bool,
    old: (usize, usize),
    new: (usize, usize),
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

fn unified(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let mut text = String::new();
    for hunk in hunks(&parts(&old, &new)) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let old_range = range(first.old.0, last.old.1);
        let new_range = range(first.new.0, last.new.1);
        let _ = writeln!(text, "@@ -{old_range} +{new_range} @@");
        for part in hunk {
            let (old, new) = (old.get(part.old.0..part.old.1), new.get(part.new.0..part.new.1));
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            if part.is_equal {
                write_lines(&mut text, ' ', old);
            } else {
                write_lines(&mut text, '-', old);
                write_lines(&mut text, '+', new);
            }
        }
    }
    text
}

fn write_lines(text: &mut String, mark: char, lines: &[&str]) {
    for line in lines.iter().take(MAX_LINES) {
        let _ = writeln!(text, "{mark}{line}");
    }
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

/// Groups the parts with some lines of context.
fn hunks(parts: &[Part]) -> Vec<Vec<Part>> {
    let mut hunks = Vec::new();
    let mut hunk: Vec<Part> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        if !part.is_equal {
            hunk.push(*part);
            continue;
        }
        let length = part.old.1 - part.old.0;
        let is_first = place == 0;
        let is_last = place + 1 == parts.len();
        let head = Part {
            old: (part.old.0, part.old.1.min(part.old.0 + CONTEXT)),
            new: (part.new.0, part.new.1.min(part.new.0 + CONTEXT)),
            ..*part
        };
        let tail = Part {
            old: (part.old.0.max(part.old.1.saturating_sub(CONTEXT)), part.old.1),
            new: (part.new.0.max(part.new.1.saturating_sub(CONTEXT)), part.new.1),
            ..*part
        };
        if is_first {
            hunk.push(tail);
        } else if is_last {
            hunk.push(head);
        } else if length > 2 * CONTEXT {
            hunk.push(head);
            hunks.push(std::mem::take(&mut hunk));
            hunk.push(tail);
        } else {
            hunk.push(*part);
        }
    }
    hunks.push(hunk);
    hunks.retain(|hunk| hunk.iter().any(|part| !part.is_equal));
    hunks
}

/// Splits two texts in parts that are equal and parts that are not, alternating.
fn parts(old: &[&str], new: &[&str]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for (in_old, in_new, length) in matches(old, new) {
        if at_old < in_old || at_new < in_new {
            parts.push(Part { is_equal: false, old: (at_old, in_old), new: (at_new, in_new) });
        }
        at_old = in_old + length;
        at_new = in_new + length;
        if length > 0 {
            parts.push(Part { is_equal: true, old: (in_old, at_old), new: (in_new, at_new) });
        }
    }
    parts
}

/// Returns the equal blocks, in order; the last is empty and at the end.
fn matches(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut found = if old.len().max(new.len()) > MAX_LINES { ends(old, new) } else { blocks(old, new) };
    found.sort_unstable();
    let mut merged: Vec<(usize, usize, usize)> = Vec::new();
    for (in_old, in_new, length) in found {
        match merged.last_mut() {
            Some(last) if last.0 + last.2 == in_old && last.1 + last.2 == in_new => last.2 += length,
            _ => merged.push((in_old, in_new, length)),
        }
    }
    merged.push((old.len(), new.len(), 0));
    merged
}

/// Returns the equal lines at the beginning and at the end.
fn ends(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let head = old.iter().zip(new).take_while(|(left, right)| left == right).count();
    let rest = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(left, right)| left == right).count();
    let ends = [(0, 0, head), (old.len() - tail, new.len() - tail, tail)];
    ends.into_iter().filter(|(.., length)| *length > 0).collect()
}

/// Returns the longest equal block, and those before and after it.
fn blocks(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let places = places(new);
    let mut found = Vec::new();
    let mut left = vec![(0, old.len(), 0, new.len())];
    while let Some(area) = left.pop() {
        let (in_old, in_new, length) = longest(old, new, &places, area);
        if length == 0 {
            continue;
        }
        found.push((in_old, in_new, length));
        let (old_start, old_end, new_start, new_end) = area;
        if old_start < in_old && new_start < in_new {
            left.push((old_start, in_old, new_start, in_new));
        }
        if in_old + length < old_end && in_new + length < new_end {
            left.push((in_old + length, old_end, in_new + length, new_end));
        }
    }
    found
}

/// Returns the places of the lines, except for those that are too frequent.
fn places<'a>(lines: &[&'a str]) -> HashMap<&'a str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, line) in lines.iter().enumerate() {
        places.entry(line).or_default().push(place);
    }
    if lines.len() >= POPULAR_FROM {
        let most = lines.len() / 100 + 1;
        places.retain(|_, places| places.len() <= most);
    }
    places
}

fn longest(
    old: &[&str],
    new: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (old_start, old_end, new_start, new_end): (usize, usize, usize, usize),
) -> (usize, usize, usize) {
    let mut best = (old_start, new_start, 0);
    // The lengths of the blocks that end in the line before, by their ends in the new text.
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (at, line) in old.iter().enumerate().take(old_end).skip(old_start) {
        let mut next = HashMap::new();
        for place in places.get(line).into_iter().flatten().copied() {
            if place < new_start {
                continue;
            }
            if place >= new_end {
                break;
            }
            let length =
                place.checked_sub(1).and_then(|before| lengths.get(&before)).copied().unwrap_or_default() + 1;
            next.insert(place, length);
            if length > best.2 {
                best = (at + 1 - length, place + 1 - length, length);
            }
        }
        lengths = next;
    }
    let (mut in_old, mut in_new, mut length) = best;
    // Frequent lines do not begin a block, but extend one.
    while in_old > old_start && in_new > new_start && old.get(in_old - 1) == new.get(in_new - 1) {
        in_old -= 1;
        in_new -= 1;
        length += 1;
    }
    while in_old + length < old_end
        && in_new + length < new_end
        && old.get(in_old + length) == new.get(in_new + length)
    {
        length += 1;
    }
    (in_old, in_new, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_have_context() {
        let old = (1..=20).map(|line| line.to_string()).collect::<Vec<_>>();
        let mut new = old.clone();
        new[9] = "x".to_owned();
        new.remove(18);
        let expected = "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n";
        assert_eq!(unified(&old.join("\n"), &new.join("\n")), expected);
        assert_eq!(unified("a\nb", "a\nb"), "");
        assert_eq!(unified("a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
    }

    #[test]
    fn long_texts_are_compared_from_both_ends() {
        let old: Vec<String> = (0..100_000).map(|line| format!("{}", line % 7)).collect();
        let mut new = old.clone();
        new[50_000] = "x".to_owned();
        let text = unified(&old.join("\n"), &new.join("\n"));
        assert_eq!(text.lines().count(), 9, "{text}");
    }

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
