//! Quoted strings of paths, with Go's escapes.

/// Returns the text of a quoted string; `None` if it is malformed.
pub(super) fn unquote(quoted: &str) -> Option<String> {
    let mark = quoted.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
    let inner = quoted.strip_prefix(mark)?.strip_suffix(mark)?;
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => escape(&mut rest, mark, &mut text)?,
            _ if next == mark => return None,
            _ => push(&mut text, next),
        }
    }
    // Escaped bytes need not be UTF-8.
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Adds the character of an escape whose backslash was read.
fn escape(rest: &mut std::str::Chars<'_>, mark: char, text: &mut Vec<u8>) -> Option<()> {
    let byte = match rest.next()? {
        'a' => 7,
        'b' => 8,
        't' => b'\t',
        'n' => b'\n',
        'v' => 11,
        'f' => 12,
        'r' => b'\r',
        '\\' => b'\\',
        'x' => u8::try_from(code(rest, 2, 16)?).ok()?,
        'u' => {
            push(text, char::from_u32(code(rest, 4, 16)?)?);
            return Some(());
        }
        'U' => {
            push(text, char::from_u32(code(rest, 8, 16)?)?);
            return Some(());
        }
        first @ '0'..='7' => {
            let first = first.to_digit(8)?;
            u8::try_from(first * 64 + code(rest, 2, 8)?).ok()?
        }
        escaped if escaped == mark => {
            push(text, mark);
            return Some(());
        }
        _ => return None,
    };
    text.push(byte);
    Some(())
}

/// Reads a number of exactly this many digits.
fn code(rest: &mut std::str::Chars<'_>, digits: usize, radix: u32) -> Option<u32> {
    let mut code: u32 = 0;
    for _ in 0..digits {
        code = code.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?)?;
    }
    Some(code)
}

fn push(text: &mut Vec<u8>, next: char) {
    text.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
}
