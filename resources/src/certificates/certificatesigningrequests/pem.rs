//! Blocks of PEM text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A block: `-----BEGIN label-----`, optional headers, base64, `-----END label-----`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) has_headers: bool,
    pub(crate) content: Vec<u8>,
}

/// Returns the blocks of a text, in order. Whatever is between blocks, and malformed blocks, are skipped.
pub(crate) fn blocks(text: &[u8]) -> Vec<Block> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().map(str::trim_end).peekable();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        let Some(label) = marker(line, "-----BEGIN ") else { continue };
        let mut block = Block { label: label.to_owned(), has_headers: false, content: Vec::new() };
        let mut digits = String::new();
        let mut is_closed = false;
        // A new beginning ends a block that is not closed.
        while let Some(line) = lines.next_if(|line| marker(line, "-----BEGIN ").is_none()) {
            if let Some(end) = marker(line, "-----END ") {
                is_closed = end == block.label;
                break;
            }
            if digits.is_empty() && line.contains(':') {
                block.has_headers = true;
            } else {
                digits.extend(line.chars().filter(|digit| !digit.is_ascii_whitespace()));
            }
        }
        if let (true, Ok(content)) = (is_closed, STANDARD.decode(digits)) {
            block.content = content;
            blocks.push(block);
        }
    }
    blocks
}

fn marker<'l>(line: &'l str, prefix: &str) -> Option<&'l str> {
    line.strip_prefix(prefix)?.strip_suffix("-----")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_blocks_are_skipped() {
        let text = "x\n-----BEGIN A-----\neA==\n-----END A-----\n-----BEGIN B-----\n-----BEGIN C-----\n\
                    Key: v\n\neA=\n=\n-----END C-----\n-----BEGIN D-----\n!\n-----END D-----\n-----BEGIN E-----\neA==";
        let block =
            |label: &str, has_headers| Block { label: label.to_owned(), has_headers, content: b"x".to_vec() };
        assert_eq!(blocks(text.as_bytes()), [block("A", false), block("C", true)]);
        assert!(blocks(b"\xff").is_empty());
    }
}
