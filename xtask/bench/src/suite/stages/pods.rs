//! Pods and leases.

use super::{CLIENTS, Stages};
use crate::Failure;
use crate::pods;

impl Stages<'_> {
    /// Measures writes and lists of pods, and the renewal of leases.
    pub(in super::super) async fn pods(&mut self) -> Result<(), Failure> {
        let place = self.place();
        let server = self.server(&place).await?;
        let client = server.client()?;
        for measured in pods::all(&client, &server, pods::LISTED, self.load(CLIENTS)).await? {
            self.measured(measured);
        }
        server.stop().await;
        Ok(())
    }
}
