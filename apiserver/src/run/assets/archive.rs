//! The archive of the programs: a compressed tar file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use registry_core::durable_file::DurableFile;
use ring::digest::{Context, SHA512};

/// The directory of the programs in the archive.
const DIRECTORY: &str = "controller-tools/envtest/";
/// Size of the blocks of a tar file, in bytes.
const BLOCK: usize = 512;
/// Types of entries.
const REGULAR: u8 = b'0';
const FOLDER: u8 = b'5';

/// A file whose hash is computed while it is written.
struct Hashed<W> {
    file: W,
    hash: Context,
}

/// Writes the archive of these programs, and returns its SHA-512 in hexadecimal digits.
///
/// # Errors
/// Fails if a program cannot be read, or the archive cannot be written.
pub(super) fn write(path: &Path, programs: &[(&str, &Path)]) -> io::Result<String> {
    let mut file = DurableFile::create(path)?;
    let hash = compress(&mut file, programs)?;
    file.publish()?;
    Ok(hash)
}

/// Writes the archive to a file, and returns its hash.
fn compress(file: &mut dyn Write, programs: &[(&str, &Path)]) -> io::Result<String> {
    let hashed = Hashed { file: BufWriter::new(file), hash: Context::new(&SHA512) };
    let mut archive = GzEncoder::new(hashed, Compression::fast());
    archive.write_all(&header(DIRECTORY, FOLDER, 0)?)?;
    for (name, source) in programs {
        add(&mut archive, name, source)?;
    }
    archive.write_all(&[0; 2 * BLOCK])?;
    let mut hashed = archive.finish()?;
    hashed.flush()?;
    let hash = hashed.hash.finish();
    let mut text = String::new();
    for byte in hash.as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

fn add(archive: &mut dyn Write, name: &str, source: &Path) -> io::Result<()> {
    let file = File::open(source)?;
    let length = file.metadata()?.len();
    archive.write_all(&header(&format!("{DIRECTORY}{name}"), REGULAR, length)?)?;
    let copied = io::copy(&mut BufReader::new(file).take(length), archive)?;
    if copied != length {
        return Err(io::Error::other(format!("{} changed meanwhile", source.display())));
    }
    let rest = usize::try_from(length % BLOCK as u64).map_err(io::Error::other)?;
    archive.write_all(&vec![0; (BLOCK - rest) % BLOCK])
}

/// Returns the header of an entry (POSIX ustar).
fn header(name: &str, kind: u8, length: u64) -> io::Result<[u8; BLOCK]> {
    let mut header = [0; BLOCK];
    let length = format!("{length:011o}\0");
    let fields: [(usize, &[u8]); 9] = [
        (0, name.as_bytes()),
        (100, b"0000755\0"),
        (108, b"0000000\0"),
        (116, b"0000000\0"),
        (124, length.as_bytes()),
        // Constant, so that the archive depends on the programs only.
        (136, b"00000000000\0"),
        // The checksum is computed with blanks in its place.
        (148, b"        "),
        (156, &[kind]),
        (257, b"ustar\x0000"),
    ];
    for (start, text) in fields {
        put(&mut header, start, text)?;
    }
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut header, 148, format!("{sum:06o}\0 ").as_bytes())?;
    Ok(header)
}

fn put(header: &mut [u8; BLOCK], start: usize, text: &[u8]) -> io::Result<()> {
    let place = header.get_mut(start..start + text.len());
    place.ok_or_else(|| io::Error::other("an entry is too long"))?.copy_from_slice(text);
    Ok(())
}

// === impl Hashed ===

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.file.write(bytes)?;
        self.hash.update(bytes.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
