//! The bytes of a response in pieces: frames of a watch refer to stored objects, without a copy before the connection
//! gathers what it encrypts.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};
use registry_core::storage::StoredObject;

/// The bytes after the object of a JSON frame.
pub const FRAME_END: &[u8] = b"}\n";

/// Bytes for a connection, in order.
#[derive(Debug)]
pub struct Pieces {
    front: Part,
    rest: VecDeque<Part>,
    /// Number of bytes of the front that have been taken already.
    taken: usize,
    remaining: usize,
}

#[derive(Debug)]
enum Part {
    /// Plain bytes.
    Made(Bytes),
    /// A JSON frame around an object: the bytes before it, the stored bytes, and the end.
    Frame { head: &'static [u8], object: StoredObject },
}

// === impl Pieces ===

impl Default for Pieces {
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl From<Bytes> for Pieces {
    fn from(bytes: Bytes) -> Self {
        let remaining = bytes.len();
        Self { front: Part::Made(bytes), rest: VecDeque::new(), taken: 0, remaining }
    }
}

impl Pieces {
    /// Adds bytes.
    pub fn push_made(&mut self, bytes: Bytes) {
        self.push(Part::Made(bytes));
    }

    /// Adds a frame around an object.
    pub fn push_frame(&mut self, head: &'static [u8], object: StoredObject) {
        self.push(Part::Frame { head, object });
    }

    fn push(&mut self, part: Part) {
        let bytes = part.len();
        if self.remaining == 0 {
            (self.front, self.taken) = (part, 0);
        } else if bytes > 0 {
            self.rest.push_back(part);
        }
        self.remaining += bytes;
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.front.after(self.taken)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        let mut taken = self.taken;
        for part in std::iter::once(&self.front).chain(&self.rest) {
            while let (Some(slice), chunk @ [_, ..]) = (slices.get_mut(filled), part.after(taken)) {
                *slice = IoSlice::new(chunk);
                filled += 1;
                taken += chunk.len();
            }
            taken = 0;
        }
        filled
    }

    fn advance(&mut self, count: usize) {
        // `Buf` lets implementations panic when more than the remaining bytes are taken. This one takes all
        // that remain.
        self.remaining = self.remaining.saturating_sub(count);
        self.taken += count;
        while self.taken >= self.front.len() {
            let Some(next) = self.rest.pop_front() else { break };
            self.taken -= self.front.len();
            self.front = next;
        }
    }
}

// === impl Part ===

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Made(bytes) => bytes.len(),
            Self::Frame { head, object } => head.len() + object.json().len() + FRAME_END.len(),
        }
    }

    /// Returns the contiguous bytes at this offset; empty at the end.
    fn after(&self, taken: usize) -> &[u8] {
        match self {
            Self::Made(bytes) => bytes.get(taken..).unwrap_or_default(),
            Self::Frame { head, object } => {
                let mut taken = taken;
                for section in [head, object.json(), FRAME_END] {
                    match section.get(taken..) {
                        Some(rest @ [_, ..]) => return rest,
                        _ => taken -= section.len(),
                    }
                }
                &[]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use registry_core::storage::{Attributes, Entry};

    use super::*;

    fn object(json: &'static str) -> StoredObject {
        Arc::new(Entry::new("key".into(), 1, json.into(), 0, Attributes::default()))
    }

    fn pieces() -> Pieces {
        let mut pieces = Pieces::default();
        pieces.push_frame(b"<a:", object("{\"a\":1}"));
        pieces.push_made(Bytes::new());
        pieces.push_made(Bytes::from_static(b"between"));
        pieces.push_frame(b"<b:", object("{}"));
        pieces
    }

    const ALL: &[u8] = b"<a:{\"a\":1}}\nbetween<b:{}}\n";

    #[test]
    fn the_same_bytes_come_however_they_are_taken() {
        for step in 1..=ALL.len() {
            let mut pieces = pieces();
            let mut seen = Vec::new();
            while pieces.has_remaining() {
                let before = pieces.remaining();
                let taken = pieces.copy_to_bytes(step.min(before));
                seen.extend_from_slice(&taken);
                assert_eq!(pieces.remaining(), before - taken.len());
            }
            assert_eq!(seen, ALL, "{step} at a time");
        }
    }

    #[test]
    fn slices_show_what_is_left_as_far_as_there_is_room() {
        for taken in 0..ALL.len() {
            let mut pieces = pieces();
            pieces.advance(taken);
            for room in 1..9 {
                let mut slices = vec![IoSlice::new(&[]); room];
                let filled = pieces.chunks_vectored(&mut slices);
                let shown: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                assert!(ALL[taken..].starts_with(&shown) && !shown.is_empty());
                assert!(room < 7 || shown.len() == ALL.len() - taken);
            }
        }
    }
}
