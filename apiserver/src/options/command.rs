//! Commands to run instead of serving.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::parse_duration;

/// A command to run instead of serving.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Maintains the embedded store in the data directory, while no server uses it
    #[command(subcommand)]
    Storage(StorageCommand),

    /// Prints a kubeconfig with a new client certificate, signed by the authority in the data directory
    Kubeconfig(KubeconfigCommand),

    /// Prints the reference of all flags, for the documentation
    #[command(hide = true)]
    FlagsReference,
}

/// Maintenance of an embedded store.
#[derive(Clone, Debug, Subcommand)]
pub enum StorageCommand {
    /// Reads the whole store, and reports its contents and any damage
    Check,
    /// Writes a consistent copy of the store to a file
    Backup {
        /// File to write
        file: PathBuf,
    },
    /// Creates a store from a backup; the data directory must not contain one
    Restore {
        /// Backup to read
        file: PathBuf,
    },
}

/// A kubeconfig for a user.
#[derive(Args, Clone, Debug)]
pub struct KubeconfigCommand {
    /// Name of the user
    #[arg(long, value_name = "NAME")]
    pub user: String,

    /// A group of the user; can be repeated
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,

    /// Time for which the certificate is valid
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_duration)]
    pub expires: Duration,

    /// URL of the server [default: that of the administrator's kubeconfig]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
}
