//! `--encryption-provider-config`: encryption of values at rest.
//!
//! Kubernetes concept: [encrypting data at rest](https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/).

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::OptionsError;

/// Encryption of values at rest.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Encryption")]
pub struct EncryptionOptions {
    /// EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted in the store, and how
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,

    /// Read --encryption-provider-config again when it changes
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub encryption_provider_config_automatic_reload: bool,
}

// === impl EncryptionOptions ===

impl EncryptionOptions {
    /// Checks the flags in combination.
    ///
    /// # Errors
    /// Fails if there is nothing to reload.
    pub(crate) fn validate(&self) -> Result<(), OptionsError> {
        if self.encryption_provider_config_automatic_reload && self.encryption_provider_config.is_none() {
            return Err(OptionsError::AutomaticReload);
        }
        Ok(())
    }
}
