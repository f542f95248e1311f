//! Indents JSON on the fly, in pieces of any size, without parsing it.

/// The position in the document at the end of the last piece.
#[derive(Debug, Default)]
pub(super) struct Pretty {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether a list or object was just opened: only the next byte determines whether it is empty.
    just_opened: bool,
}

// === impl Pretty ===

impl Pretty {
    /// Returns the next piece of the document, indented by two spaces per level.
    pub(super) fn indent(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() * 3 / 2);
        for byte in piece {
            if self.in_string {
                self.string_byte(*byte, &mut out);
            } else {
                self.structure_byte(*byte, &mut out);
            }
        }
        out
    }

    fn string_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        out.push(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    fn structure_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {}
            b'{' | b'[' => {
                self.begin_value(out);
                out.push(byte);
                self.depth += 1;
                self.just_opened = true;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if !std::mem::take(&mut self.just_opened) {
                    self.new_line(out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                self.new_line(out);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                self.begin_value(out);
                self.in_string = byte == b'"';
                out.push(byte);
            }
        }
    }

    fn begin_value(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.just_opened) {
            self.new_line(out);
        }
    }

    fn new_line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        (0..self.depth).for_each(|_| out.extend_from_slice(b"  "));
    }
}
