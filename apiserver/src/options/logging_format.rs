//! The format of the log.

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LoggingFormat {
    /// Text for people
    Text,
    /// One JSON object per line
    Json,
}
