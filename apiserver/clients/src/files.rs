//! Settings whose files are read again when they change.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderMap;
use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::time::Instant;

use super::error::SettingsError;
use super::settings::{ClientSettings, Contents};

/// Minimum time between two readings of the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Settings, and what was made of their files.
pub(super) struct Followed {
    settings: Arc<ClientSettings>,
    protocols: &'static [&'static [u8]],
    current: ArcSwap<Prepared>,
    checked: Mutex<Instant>,
}

/// The headers and the TLS configuration that were made of the files.
pub(super) struct Prepared {
    contents: Contents,
    /// The headers of each request.
    pub(super) headers: HeaderMap,
    /// The same until a certificate, a key or an authority changes. Connections that were made with another one are not used.
    pub(super) tls: Arc<ClientConfig>,
}

// === impl Followed ===

impl Followed {
    /// Reads the files for the first time. Connections speak the first of these protocols that the server has.
    ///
    /// # Errors
    /// Fails with a reason if a file cannot be read or used.
    pub(super) fn new(
        settings: ClientSettings,
        protocols: &'static [&'static [u8]],
    ) -> Result<Self, SettingsError> {
        let contents = settings.contents()?;
        let (headers, tls) = (settings.headers(&contents)?, settings.tls(&contents, protocols)?);
        let current = ArcSwap::from_pointee(Prepared { contents, headers, tls });
        Ok(Self { settings: Arc::new(settings), protocols, current, checked: Mutex::new(Instant::now()) })
    }

    /// Returns what was last made of the files.
    pub(super) fn current_now(&self) -> Arc<Prepared> {
        self.current.load_full()
    }

    /// Returns the settings.
    pub(super) fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Returns what was made of the files, after reading them again if that was long ago. Files that cannot be used change
    /// nothing.
    pub(super) async fn current(&self) -> Arc<Prepared> {
        if self.settings.has_files() && self.is_due() {
            let settings = self.settings.clone();
            let read = tokio::task::spawn_blocking(move || settings.contents()).await;
            let read = read.unwrap_or_else(|error| Err(error.into()));
            if let Err(reason) = read.and_then(|contents| self.replace(contents)) {
                tracing::warn!("the former credentials for {} stay in use: {reason}", self.settings.server);
            }
        }
        self.current.load_full()
    }

    /// Whether the files are to be read again by the caller. Others continue with the former contents.
    fn is_due(&self) -> bool {
        let mut checked = self.checked.lock();
        let is_due = checked.elapsed() >= CHECK_INTERVAL;
        if is_due {
            *checked = Instant::now();
        }
        is_due
    }

    fn replace(&self, contents: Contents) -> Result<(), SettingsError> {
        let former = self.current.load();
        if former.contents == contents {
            return Ok(());
        }
        let tls = if former.contents.has_tls_of(&contents) {
            former.tls.clone()
        } else {
            self.settings.tls(&contents, self.protocols)?
        };
        let headers = self.settings.headers(&contents)?;
        self.current.store(Arc::new(Prepared { contents, headers, tls }));
        Ok(())
    }
}
