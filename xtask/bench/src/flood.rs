//! A flooding tenant: a process with many connections that each list as fast as they can.
//!
//! It is a process of its own, of the lowest priority. In the measuring process, answers to the quiet tenant would wait behind
//! those to the flood before their arrival is noticed; with the same priority, the measuring process would wait for a
//! processor. Neither is the server's doing. The server has the usual priority: it always has as much to do as it can.

use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use clap::Args;
use hyper::Method;

use super::client::{Client, Connection};
use crate::Failure;

/// Options of `cargo xtask bench --flood`, which the suite runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct FloodOptions {
    /// List the collection at this path as fast as possible until the process is ended.
    #[arg(long, hide = true, requires = "server")]
    pub(crate) flood: Option<String>,
    /// Number of connections of the flood.
    #[arg(long, hide = true, default_value_t = 128)]
    flood_connections: usize,
    /// Whether the flood asks for compressed responses.
    #[arg(long, hide = true)]
    flood_gzip: bool,
}

/// A running flood; ended when dropped.
pub(crate) struct Flood(Child);

/// Runs a flood until the process is ended.
pub(crate) async fn run(url: &str, token: &str, path: &str, options: &FloodOptions) -> Result<(), Failure> {
    let client = Client::new(url, token)?;
    let mut connections = tokio::task::JoinSet::new();
    for _ in 0..options.flood_connections {
        let connection = client.connect().await?;
        let connection = if options.flood_gzip { connection.with_gzip() } else { connection };
        connections.spawn(list(connection, path.to_owned()));
    }
    while let Some(ended) = connections.join_next().await {
        ended??;
    }
    Ok(())
}

async fn list(mut connection: Connection, path: String) -> Result<(), Failure> {
    loop {
        let answer = connection.exchange(Method::GET, &path, Bytes::new()).await;
        // That some are refused is the point; any other failure is one.
        answer
            .map(drop)
            .or_else(|error| if error.to_string().contains("429") { Ok(()) } else { Err(error) })?;
    }
}

// === impl Flood ===

impl Flood {
    /// Starts a flood of this server by the user of this token.
    pub(crate) fn start(url: &str, token: &str, path: &str, is_compressed: bool) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| format!("no path of this program: {error}"))?;
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(program).args(["--flood", path]);
        command.args(["--server", url, "--token", token, "--pid", "0"]);
        if is_compressed {
            command.arg("--flood-gzip");
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Self).map_err(|error| format!("cannot start the flood: {error}").into())
    }

    /// Ends the flood.
    ///
    /// # Errors
    /// It has ended before, because a request failed.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the flood ended early, with {status}").into()),
            Err(error) => Err(error.to_string().into()),
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        // Fails only if it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
