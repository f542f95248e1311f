//! The size of a regular expression before it is compiled.

/// The size of a class such as `\p{L}`, which has hundreds of ranges.
const CLASS_SIZE: u64 = 100;

/// The size of any character, whose encoding has several forms.
const ANY_SIZE: u64 = 4;

/// Maximum length of the bounds of a repetition, with the brace.
const MAX_BOUNDS: usize = 17;

/// Maximum length of the name of a class, with both braces.
const MAX_NAME: usize = 64;

/// Estimates the size of a regular expression, in characters with its repetitions written out. Takes linear time.
pub fn size(pattern: &str) -> u64 {
    // The sizes of the groups that are open, and of the last character or group in the innermost one.
    let mut open: Vec<u64> = Vec::new();
    let mut group: u64 = 0;
    let mut last: u64 = 0;
    let mut rest = pattern.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '(' => {
                open.push(group);
                group = 0;
                last = 0;
            }
            ')' => {
                last = group;
                group = group.saturating_add(open.pop().unwrap_or_default());
            }
            '{' => {
                if let Some((times, after)) = repetitions(rest.as_str()) {
                    group = group.saturating_add(last.saturating_mul(times.saturating_sub(1)));
                    rest = after.chars();
                } else {
                    last = 1;
                    group = group.saturating_add(1);
                }
            }
            '\\' => {
                last = match rest.next() {
                    Some('p' | 'P') => {
                        // What follows is a name: a letter, or more in braces.
                        let text = rest.as_str();
                        let name = text.starts_with('{').then(|| split_at_brace(text, MAX_NAME)).flatten();
                        rest = name.map_or_else(|| after_first(text), |(_, after)| after).chars();
                        CLASS_SIZE
                    }
                    // All characters but a few.
                    Some('D' | 'S' | 'W') => ANY_SIZE,
                    _ => 1,
                };
                group = group.saturating_add(last);
            }
            '.' => {
                last = ANY_SIZE;
                group = group.saturating_add(last);
            }
            _ => {
                last = 1;
                group = group.saturating_add(1);
            }
        }
    }
    open.into_iter().fold(group, u64::saturating_add)
}

/// Returns the larger number of `n}`, `n,}` or `n,m}`, and the text after it.
fn repetitions(text: &str) -> Option<(u64, &str)> {
    let (bounds, after) = split_at_brace(text, MAX_BOUNDS)?;
    let (least, most) = bounds.split_once(',').unwrap_or((bounds, bounds));
    let least: u64 = least.parse().ok()?;
    Some((most.parse().unwrap_or(least).max(least), after))
}

/// Returns the text without its first character.
fn after_first(text: &str) -> &str {
    let mut letters = text.chars();
    letters.next();
    letters.as_str()
}

/// Returns what is before and after the first closing brace, if it is among the first characters. The rest of the text
/// is not searched: an expression may have an opening brace at each character.
fn split_at_brace(text: &str, characters: usize) -> Option<(&str, &str)> {
    let (end, _) = text.char_indices().take(characters).find(|(_, letter)| *letter == '}')?;
    let (before, after) = text.split_at_checked(end)?;
    Some((before, after.get(1..)?))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn repetitions_are_written_out() {
        for (pattern, expected) in
            [("", 0), ("abc", 3), ("a{3}", 3), ("a{2,5}b", 6), ("(ab){10}", 20), ("((a{10}){10}){10}", 1_000)]
        {
            assert_eq!(size(pattern), expected, "{pattern}");
        }
        for pattern in [r"\p{L}{1000}", r"\pL{1000}", r"\PL{2,1000}", r"(\pL){1000}"] {
            assert!(size(pattern) >= 100_000, "{pattern}");
        }
        assert!(size(&"(a{1000}".repeat(1000)) < u64::MAX);
    }

    #[test]
    fn braces_that_are_never_closed_are_searched_for_once() {
        let begin = Instant::now();
        for brace in ["{", r"\p{", "{1,", "{é"] {
            let text = brace.repeat(500_000);
            assert!(size(&text) > 0, "{brace}");
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it took {:?}", begin.elapsed());
    }
}
