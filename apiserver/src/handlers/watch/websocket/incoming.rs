//! The frames of a client: pings are answered, messages are dropped, and the rest ends the connection.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::Sender;

use super::{CLOSE, FINAL, NORMAL, PONG};

/// Maximum length of a message.
const MAX_MESSAGE_BYTES: u64 = 32 * 1024 * 1024;
/// Maximum length of the payload of a control frame.
const MAX_CONTROL_BYTES: u64 = 125;

const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
const LAST_OF_DATA: u8 = 2;
const PING: u8 = 9;

/// The code of a frame that breaks the protocol.
const PROTOCOL_ERROR: u16 = 1002;
/// The code of a message that is too long.
const TOO_LARGE: u16 = 1009;

/// A demand in the frames of a client.
pub(super) enum Wish {
    /// A pong with this payload.
    Pong(Bytes),
    /// The end of the connection, with this code.
    Close(u16),
}

/// A frame, before its payload.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    opcode: u8,
    length: u64,
    mask: [u8; 4],
}

/// Reads frames until the client leaves or breaks the protocol, and then wishes for the end.
pub(super) async fn read(mut reader: impl AsyncRead + Unpin, wishes: Sender<Wish>) {
    let code = loop {
        if let Err(code) = read_frame(&mut reader, &wishes).await {
            break code;
        }
    };
    // The watch may have ended before.
    let _ = wishes.send(Wish::Close(code)).await;
}

/// Reads a frame.
///
/// # Errors
/// Returns the code with which the connection ends.
async fn read_frame(reader: &mut (impl AsyncRead + Unpin), wishes: &Sender<Wish>) -> Result<(), u16> {
    let Head { opcode, length, mask } = read_head(reader).await?;
    match opcode {
        CLOSE => Err(NORMAL),
        PING => {
            let mut payload = vec![0; usize::try_from(length).map_err(|_| TOO_LARGE)?];
            reader.read_exact(&mut payload).await.map_err(|_| NORMAL)?;
            for (byte, mask) in payload.iter_mut().zip(mask.into_iter().cycle()) {
                *byte ^= mask;
            }
            wishes.send(Wish::Pong(payload.into())).await.map_err(|_| NORMAL)
        }
        _ => {
            let mut dropped = reader.take(length);
            let bytes = tokio::io::copy(&mut dropped, &mut tokio::io::sink()).await.map_err(|_| NORMAL)?;
            if bytes == length { Ok(()) } else { Err(NORMAL) }
        }
    }
}

/// Reads the first bytes of a frame.
///
/// # Errors
/// Returns the code with which the connection ends.
async fn read_head(reader: &mut (impl AsyncRead + Unpin)) -> Result<Head, u16> {
    let first = reader.read_u8().await.map_err(|_| NORMAL)?;
    let second = reader.read_u8().await.map_err(|_| NORMAL)?;
    let opcode = first & 0x0f;
    let is_control = matches!(opcode, CLOSE..=PONG);
    if first & RESERVED != 0 || second & MASKED == 0 || !(is_control || opcode <= LAST_OF_DATA) {
        return Err(PROTOCOL_ERROR);
    }
    let length = match second & !MASKED {
        126 => reader.read_u16().await.map_err(|_| NORMAL)?.into(),
        127 => reader.read_u64().await.map_err(|_| NORMAL)?,
        length => length.into(),
    };
    if is_control && (length > MAX_CONTROL_BYTES || first & FINAL == 0) {
        return Err(PROTOCOL_ERROR);
    }
    if length > MAX_MESSAGE_BYTES {
        return Err(TOO_LARGE);
    }
    let mut mask = [0; 4];
    reader.read_exact(&mut mask).await.map_err(|_| NORMAL)?;
    Ok(Head { opcode, length, mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn wished(frames: &[u8]) -> (Vec<Bytes>, u16) {
        let (wishes, mut received) = tokio::sync::mpsc::channel(16);
        read(frames, wishes).await;
        let mut pongs = Vec::new();
        loop {
            match received.recv().await.unwrap() {
                Wish::Pong(payload) => pongs.push(payload),
                Wish::Close(code) => return (pongs, code),
            }
        }
    }

    #[tokio::test]
    async fn pings_are_answered_and_messages_dropped() {
        let text = [0x81, 0x82, 1, 2, 3, 4, b'h', b'i'];
        let ping = [0x89, 0x82, 1, 1, 1, 1, b'a' ^ 1, b'b' ^ 1];
        let close = [0x88, 0x80, 0, 0, 0, 0];
        let all = [&text[..], &ping, &close].concat();
        assert_eq!(wished(&all).await, (vec![Bytes::from_static(b"ab")], NORMAL));
        assert_eq!(wished(&text).await, (Vec::new(), NORMAL), "the client left");
    }

    #[tokio::test]
    async fn hostile_frames_end_the_connection_at_once() {
        let gigabyte = [&[0x82, 0xff][..], &(1_u64 << 30).to_be_bytes()].concat();
        let endless = [&[0x82, 0xff][..], &u64::MAX.to_be_bytes()].concat();
        for (frame, code) in [
            (&[0x81, 0x02, b'h', b'i'][..], PROTOCOL_ERROR),
            (&[0xc1, 0x80, 0, 0, 0, 0], PROTOCOL_ERROR),
            (&[0x83, 0x80, 0, 0, 0, 0], PROTOCOL_ERROR),
            (&[0x8b, 0x80, 0, 0, 0, 0], PROTOCOL_ERROR),
            (&[0x09, 0x80, 0, 0, 0, 0], PROTOCOL_ERROR),
            (&[0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0], PROTOCOL_ERROR),
            (&gigabyte, TOO_LARGE),
            (&endless, TOO_LARGE),
            (&[0x81], NORMAL),
            (&[0x81, 0xfe, 0x01], NORMAL),
        ] {
            assert_eq!(wished(frame).await, (Vec::new(), code), "{frame:x?}");
        }
    }
}
