//! Writes the wire format.

use super::reader::WireType;

/// The position of the length of a message being written.
#[derive(Clone, Copy)]
#[must_use]
pub(super) struct Open(usize);

pub(super) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Returns the number of bytes of an encoded number.
pub(super) fn varint_len(value: u64) -> usize {
    value.checked_ilog2().map_or(1, |log| log as usize / 7 + 1)
}

pub(super) fn write_key(out: &mut Vec<u8>, number: u32, wire_type: WireType) {
    write_varint(out, u64::from(number) << 3 | wire_type as u64);
}

pub(super) fn write_number(out: &mut Vec<u8>, number: u32, value: u64) {
    write_key(out, number, WireType::Varint);
    write_varint(out, value);
}

pub(super) fn write_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    write_key(out, number, WireType::Bytes);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Begins a message. Most messages are short, so one byte is reserved for the length.
pub(super) fn open(out: &mut Vec<u8>, number: u32) -> Open {
    write_key(out, number, WireType::Bytes);
    out.push(0);
    Open(out.len())
}

/// Writes a message's length at its beginning; moves the message if the length needs more than one byte.
pub(super) fn close(out: &mut Vec<u8>, Open(begin): Open) {
    let end = out.len();
    let len = end.saturating_sub(begin);
    let more = varint_len(len as u64) - 1;
    if more > 0 {
        out.resize(end + more, 0);
        out.copy_within(begin..end, begin + more);
    }
    let mut rest = len as u64;
    let places = out.get_mut(begin.saturating_sub(1)..begin + more).unwrap_or_default();
    let last = places.len().saturating_sub(1);
    for (at, place) in places.iter_mut().enumerate() {
        *place = (rest & 0x7f) as u8 | if at < last { 0x80 } else { 0 };
        rest >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_sizes_find_their_place() {
        for len in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let mut out = b"before".to_vec();
            let at = open(&mut out, 5);
            out.extend(std::iter::repeat_n(7_u8, len));
            close(&mut out, at);
            let mut expected = b"before".to_vec();
            write_bytes(&mut expected, 5, &vec![7; len]);
            assert!(out == expected, "{len}");
            assert_eq!(expected.len(), 7 + varint_len(len as u64) + len);
        }
        assert_eq!([0, 127, 128, u64::MAX].map(varint_len), [1, 1, 2, 10]);
    }
}
