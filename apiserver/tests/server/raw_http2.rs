//! HTTP/2 frame by frame, for what clients hide: resets, windows, and the order of frames.

use apiserver::testing::TestServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::client;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
/// Flag of DATA and HEADERS.
const END_STREAM: u8 = 1;
/// Flag of SETTINGS and PING.
const ACK: u8 = 1;
/// Flag of HEADERS.
const END_HEADERS: u8 = 4;
/// Setting of the window of new streams.
const INITIAL_WINDOW_SIZE: u16 = 4;
/// The largest frame that every peer accepts.
const MAX_FRAME_BYTES: usize = 16 * 1024;

/// A connection that sends what a test says.
pub struct RawConnection {
    stream: TlsStream<TcpStream>,
    next_id: u32,
    initial_window: i64,
    /// Bytes that may be sent over the connection, and on the newest stream.
    windows: (i64, i64),
    /// Frames of the newest stream.
    pub seen: Seen,
}

/// Frames of one stream.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whether the server has ended its side of the stream.
    pub is_ended: bool,
    /// The body of the response.
    pub body: Vec<u8>,
    /// Codes of RST_STREAM.
    pub resets: Vec<u32>,
}

// === impl RawConnection ===

impl RawConnection {
    pub async fn open(server: &TestServer) -> Self {
        let mut stream = client::tls(server, "h2").await;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut own = Self {
            stream,
            next_id: 1,
            initial_window: 65_535,
            windows: (65_535, 65_535),
            seen: Seen::default(),
        };
        own.write(SETTINGS, 0, 0, &[]).await;
        own
    }

    /// Sends the headers of a request on a new stream, which `is_whole` ends.
    pub async fn begin(&mut self, method: &str, path: &str, headers: &[(&str, &str)], is_whole: bool) {
        let pseudo =
            [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
        let mut block = Vec::new();
        for (name, value) in pseudo.iter().chain(headers) {
            // A literal without indexing.
            block.push(0);
            for text in [name, value] {
                block.push(u8::try_from(text.len()).unwrap());
                block.extend_from_slice(text.as_bytes());
            }
        }
        let id = self.next_id;
        self.next_id += 2;
        self.windows.1 = self.initial_window;
        self.seen = Seen::default();
        self.write(HEADERS, END_HEADERS | u8::from(is_whole), id, &block).await;
    }

    /// Sends a part of the body as the windows allow it. Ends early if the stream is reset.
    pub async fn send(&mut self, mut part: &[u8], is_last: bool) {
        loop {
            let window = usize::try_from(self.windows.0.min(self.windows.1)).unwrap_or(0);
            if window == 0 && !part.is_empty() {
                self.read().await.expect("a window");
                if !self.seen.resets.is_empty() {
                    return;
                }
                continue;
            }
            let (now, rest) = part.split_at(part.len().min(window).min(MAX_FRAME_BYTES));
            part = rest;
            let flags = if is_last && rest.is_empty() { END_STREAM } else { 0 };
            self.write(DATA, flags, self.id(), now).await;
            let sent = i64::try_from(now.len()).unwrap();
            self.windows = (self.windows.0 - sent, self.windows.1 - sent);
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Reads until the response of the newest stream is complete.
    pub async fn answer(&mut self) -> serde_json::Value {
        while !self.seen.is_ended {
            self.read().await.expect("the rest of an answer");
        }
        serde_json::from_slice(&self.seen.body).unwrap()
    }

    /// Reads until the server has seen everything that was sent before.
    pub async fn arrived(&mut self) {
        self.write(PING, 0, 0, b"arrived?").await;
        while self.read().await.expect("a ping") != (PING, ACK) {}
    }

    /// Reads until the newest stream is reset. Returns the code.
    pub async fn reset(&mut self) -> u32 {
        loop {
            if let Some(code) = self.seen.resets.first() {
                return *code;
            }
            self.read().await.expect("a reset");
        }
    }

    fn id(&self) -> u32 {
        self.next_id - 2
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).await.unwrap();
    }

    /// Reads a frame, and returns its type and flags; `None` at the end of the connection.
    async fn read(&mut self) -> Option<(u8, u8)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
        let is_newest = stream == self.id();
        match kind {
            DATA if is_newest => self.seen.body.extend_from_slice(&payload),
            RST_STREAM if is_newest => self.seen.resets.push(number(0)),
            RST_STREAM => panic!("the stream {stream} was reset with {} later", number(0)),
            GOAWAY => assert_eq!(number(4), 0, "the server ends the connection with an error"),
            WINDOW_UPDATE if stream == 0 => self.windows.0 += i64::from(number(0)),
            WINDOW_UPDATE if is_newest => self.windows.1 += i64::from(number(0)),
            SETTINGS if flags & ACK == 0 => self.take_settings(&payload).await,
            PING if flags & ACK == 0 => self.write(PING, ACK, 0, &payload).await,
            _ => {}
        }
        if is_newest && matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            self.seen.is_ended = true;
        }
        Some((kind, flags))
    }

    async fn take_settings(&mut self, payload: &[u8]) {
        for setting in payload.chunks_exact(6) {
            if u16::from_be_bytes([setting[0], setting[1]]) == INITIAL_WINDOW_SIZE {
                let size = i64::from(u32::from_be_bytes(setting[2..].try_into().unwrap()));
                self.windows.1 += size - self.initial_window;
                self.initial_window = size;
            }
        }
        self.write(SETTINGS, ACK, 0, &[]).await;
    }
}
