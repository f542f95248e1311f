//! The text that a string or bytes literal stands for.

/// Returns the bytes of a literal with its quotes and prefix, or the message of an error.
///
/// In a string, `\x` and octal escapes are code points; in bytes they are bytes.
pub(crate) fn unescape(literal: &str, is_bytes: bool) -> Result<Vec<u8>, &'static str> {
    const UNQUOTABLE: &str = "unable to unescape string";
    let literal = literal.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, quoted) = match literal.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, literal.as_str()),
    };
    let long = ["\"\"\"", "'''"]
        .into_iter()
        .find_map(|quotes| quoted.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes)));
    let text = match long {
        Some(text) => text,
        None => ["\"", "'"]
            .into_iter()
            .find_map(|quote| quoted.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)))
            .ok_or(UNQUOTABLE)?,
    };
    if raw || !text.contains('\\') {
        return Ok(text.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character == '\\' {
            unescape_one(&mut rest, is_bytes, &mut out)?;
        } else {
            push_character(&mut out, character);
        }
    }
    Ok(out)
}

fn push_character(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn unescape_one(
    rest: &mut std::str::Chars<'_>,
    is_bytes: bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let escape = rest.next().ok_or("unable to unescape string, found '\\' as last character")?;
    let simple = match escape {
        'a' => Some(0x07),
        'b' => Some(0x08),
        'f' => Some(0x0c),
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        'v' => Some(0x0b),
        '\\' | '\'' | '"' | '`' | '?' => Some(escape as u8),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return Ok(());
    }
    let code = match escape {
        'x' | 'X' => digits(rest, 0, 2, 16)?,
        'u' | 'U' if is_bytes => return Err("unable to unescape string"),
        'u' => digits(rest, 0, 4, 16)?,
        'U' => digits(rest, 0, 8, 16)?,
        '0'..='3' => digits(rest, escape as u32 - '0' as u32, 2, 8)?,
        _ => return Err("unable to unescape string"),
    };
    if is_bytes {
        out.push(u8::try_from(code).map_err(|_| "unable to unescape string")?);
        return Ok(());
    }
    push_character(out, char::from_u32(code).ok_or("invalid unicode code point")?);
    Ok(())
}

fn digits(rest: &mut std::str::Chars<'_>, start: u32, count: usize, radix: u32) -> Result<u32, &'static str> {
    let mut code = start;
    for _ in 0..count {
        let digit = rest.next().and_then(|digit| digit.to_digit(radix)).ok_or("unable to unescape string")?;
        code = code.wrapping_mul(radix) + digit;
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_code_points_in_strings_and_bytes_in_bytes() {
        let text = |literal| String::from_utf8(unescape(literal, false).unwrap()).unwrap();
        assert_eq!(text(r#""\u00e9\x41\101\n\?""#), "éAA\n?");
        assert_eq!(text(r"r'\n'"), r"\n");
        assert_eq!(text("'''a\r\n'b'''"), "a\n'b");
        assert_eq!(unescape(r"'\xff\377'", true).unwrap(), [0xff, 0xff]);
        assert_eq!(text(r"'\xff'"), "ÿ");
        assert_eq!(unescape(r"'\ud800'", false), Err("invalid unicode code point"));
    }
}
