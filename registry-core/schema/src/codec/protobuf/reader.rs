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

/// A field of a message, whose value is read next.
pub(super) struct Occurrence<'r, 'a> {
    /// The field's name in errors.
    pub(super) name: &'r str,
    pub(super) key: Key,
    pub(super) reader: &'r mut Reader<'a>,
}

/// Maximum nesting depth of unknown groups, which are skipped. Groups are an obsolete feature of protobuf.
const GROUP_DEPTH: usize = 32;

/// Maximum field number.
const MAX_NUMBER: u64 = (1 << 29) - 1;

// === impl Key ===

impl Key {
    /// Checks that the wire type is the one that the schema requires.
    fn expect(self, wire_type: WireType, name: &str) -> Result<(), DecodeError> {
        if self.wire_type == wire_type {
            return Ok(());
        }
        Err(DecodeError::Tag(TagError::WrongWireType(self.wire_type as u8, name.to_owned())))
    }
}

// === impl Occurrence ===

impl<'a> Occurrence<'_, 'a> {
    pub(super) fn varint(self) -> Result<u64, DecodeError> {
        self.key.expect(WireType::Varint, self.name)?;
        self.reader.varint()
    }

    pub(super) fn fixed64(self) -> Result<u64, DecodeError> {
        self.key.expect(WireType::Fixed64, self.name)?;
        self.reader.fixed64()
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        self.key.expect(WireType::Bytes, self.name)?;
        self.reader.bytes()
    }

    /// Reads a string. Go accepts invalid UTF-8 here and replaces it when it writes JSON.
    pub(super) fn string(self) -> Result<String, DecodeError> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub(super) fn skip(self) -> Result<(), DecodeError> {
        self.reader.skip(self.key)
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

    /// Reads the tag of the next field, which has this name in errors; `None` at the end of the message.
    pub(super) fn field<'r>(&'r mut self, name: &'r str) -> Result<Option<Occurrence<'r, 'a>>, DecodeError> {
        let Some(key) = self.key()? else { return Ok(None) };
        Ok(Some(Occurrence { name, key, reader: self }))
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
