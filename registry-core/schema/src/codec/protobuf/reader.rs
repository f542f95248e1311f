//! Reads the wire format. Every length is checked before data is taken.

use super::DecodeError;
use crate::codec::TagError;

/// The delimitation of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    StartGroup = 3,
    EndGroup = 4,
    Fixed32 = 5,
}

/// The tag of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) number: u32,
    pub(super) wire_type: WireType,
}

/// The unread part of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// Maximum nesting depth of unknown groups, which are skipped. Groups are an obsolete feature of protobuf.
const GROUP_DEPTH: usize = 32;

/// Maximum field number.
const MAX_NUMBER: u64 = (1 << 29) - 1;

// === impl Key ===

impl Key {
    /// Checks that the wire type is the one that the schema requires.
    pub(super) fn expect(self, wire_type: WireType, name: &str) -> Result<(), DecodeError> {
        if self.wire_type == wire_type {
            return Ok(());
        }
        Err(DecodeError::Tag(TagError::WrongWireType(self.wire_type as u8, name.to_owned())))
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the number of remaining bytes.
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Reads the next field's tag; `None` at the end of the message.
    pub(super) fn key(&mut self) -> Result<Option<Key>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let wire_type = match key & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Bytes,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            other => return Err(DecodeError::Tag(TagError::WireType(other))),
        };
        let number = key >> 3;
        if number == 0 || number > MAX_NUMBER {
            return Err(DecodeError::Tag(TagError::Number(number, key & 7)));
        }
        Ok(Some(Key { number: u32::try_from(number).unwrap_or_default(), wire_type }))
    }

    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(DecodeError::EndOfMessage)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Tag(TagError::Overflow))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = usize::try_from(self.varint()?).map_err(|_| DecodeError::EndOfMessage)?;
        self.take(len)
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| DecodeError::EndOfMessage)?))
    }

    /// Skips a field's value.
    pub(super) fn skip(&mut self, key: Key) -> Result<(), DecodeError> {
        match key.wire_type {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.take(8).map(drop),
            WireType::Bytes => self.bytes().map(drop),
            WireType::Fixed32 => self.take(4).map(drop),
            WireType::StartGroup => self.skip_group(),
            WireType::EndGroup => Err(DecodeError::Tag(TagError::EndOfGroup)),
        }
    }

    fn skip_group(&mut self) -> Result<(), DecodeError> {
        let mut depth = 1;
        while depth > 0 {
            let key = self.key()?.ok_or(DecodeError::EndOfMessage)?;
            match key.wire_type {
                WireType::StartGroup if depth == GROUP_DEPTH => {
                    return Err(DecodeError::TooDeep);
                }
                WireType::StartGroup => depth += 1,
                WireType::EndGroup => depth -= 1,
                _ => self.skip(key)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::EndOfMessage)?;
        self.rest = rest;
        Ok(taken)
    }
}
