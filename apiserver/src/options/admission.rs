//! `--enable-admission-plugins`, `--disable-admission-plugins`: the plug-ins that may change or refuse a
//! write.
//!
//! Kubernetes concept:
//! [admission controllers](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgAction, Args};
use registry_core::admission::AdmissionChain;
use registry_core::features::Features;
use resources::admission::{AdmissionConfiguration, DefaultTolerations};

use super::OptionsError;

mod order;

pub use order::{is_on_by_default, ordered_names};

/// Admission of writes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Admission")]
pub struct AdmissionOptions {
    /// Admission plug-ins to enable in addition to the default ones; separated by commas
    #[arg(long, value_name = "PLUGIN,…", value_delimiter = ',')]
    pub enable_admission_plugins: Vec<PluginName>,

    /// Admission plug-ins to disable: without `ServiceAccount`, pods can be created without a controller that
    /// creates service accounts; separated by commas
    #[arg(long, value_name = "PLUGIN,…", value_delimiter = ',')]
    pub disable_admission_plugins: Vec<PluginName>,

    /// A file with the configuration of admission plug-ins: an `AdmissionConfiguration` of `apiserver.config.k8s.io/v1`
    #[arg(long, value_name = "FILE")]
    pub admission_control_config_file: Option<PathBuf>,

    /// Seconds for which pods stay on a node that is not ready, unless they say otherwise
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub default_not_ready_toleration_seconds: u32,

    /// Seconds for which pods stay on a node that cannot be reached, unless they say otherwise
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub default_unreachable_toleration_seconds: u32,

    /// Allow privileged containers, such as those of network plug-ins and of kube-proxy
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub allow_privileged: bool,
}

/// The name of an admission plug-in: one of Kubernetes', or of the server's author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginName(String);

impl FromStr for PluginName {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

// === impl AdmissionOptions ===

impl Default for AdmissionOptions {
    fn default() -> Self {
        let DefaultTolerations { not_ready, unreachable } = DefaultTolerations::default();
        let seconds = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
        Self {
            enable_admission_plugins: Vec::new(),
            disable_admission_plugins: Vec::new(),
            admission_control_config_file: None,
            default_not_ready_toleration_seconds: seconds(not_ready),
            default_unreachable_toleration_seconds: seconds(unreachable),
            allow_privileged: false,
        }
    }
}

impl AdmissionOptions {
    /// Removes the plug-ins that are not enabled from the chain of all built-in ones, and sorts the others into the order
    /// in which they run.
    ///
    /// # Errors
    /// Fails if there is no plug-in of a name, or if a plug-in is enabled that is not built in, or enabled and disabled
    /// at once: the server would not enforce what its operator expects.
    pub fn apply(&self, chain: &mut AdmissionChain) -> Result<(), OptionsError> {
        self.check_names(|name| chain.names().any(|own| own == name))?;
        for PluginName(name) in &self.enable_admission_plugins {
            if !chain.names().any(|built_in| built_in == *name) {
                let built_in = chain.names().collect::<Vec<_>>().join(", ");
                return Err(OptionsError::PluginNotBuiltIn { name: name.clone(), built_in });
            }
        }
        chain.retain(|name| !self.disables(name) && (is_on_by_default(name) || self.enables(name)));
        chain.sort(&ordered_names().collect::<Vec<_>>());
        Ok(())
    }

    /// Checks the flags before there is a chain. Names that are not Kubernetes' may be those of the author's plug-ins.
    ///
    /// # Errors
    /// As [`apply`](Self::apply) and [`configuration`](Self::configuration), as far as that can be known.
    pub fn check(&self, has_authored_plugins: bool, features: Features) -> Result<(), OptionsError> {
        self.check_names(|_| has_authored_plugins)?;
        self.configuration(features).map(|_| ())
    }

    /// Checks that there is a plug-in of each name, and that none is enabled and disabled at once.
    fn check_names(&self, is_authored: impl Fn(&str) -> bool) -> Result<(), OptionsError> {
        for (flag, names) in [
            ("--enable-admission-plugins", &self.enable_admission_plugins),
            ("--disable-admission-plugins", &self.disable_admission_plugins),
        ] {
            let is_known = |name: &str| ordered_names().any(|known| known == name) || is_authored(name);
            if let Some(PluginName(name)) = names.iter().find(|name| !is_known(&name.0)) {
                return Err(OptionsError::UnknownPlugin { flag, name: name.clone() });
            }
        }
        match self.enable_admission_plugins.iter().find(|name| self.disables(&name.0)) {
            Some(PluginName(name)) => Err(OptionsError::PluginTwice(name.clone())),
            None => Ok(()),
        }
    }

    /// Reads the configuration of the plug-ins, on a server with these features.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not valid, or if a plug-in is enabled that cannot work without a
    /// configuration and has none.
    pub fn configuration(&self, features: Features) -> Result<AdmissionConfiguration, OptionsError> {
        let configuration = match &self.admission_control_config_file {
            Some(path) => {
                AdmissionConfiguration::read(path, features).map_err(OptionsError::AdmissionConfiguration)?
            }
            None => AdmissionConfiguration::default(),
        };
        if let Some(name) = configuration.unconfigured().find(|name| self.enables(name)) {
            return Err(OptionsError::PluginUnconfigured(name));
        }
        Ok(configuration)
    }

    /// Returns for how long pods stay on nodes that are not ready.
    pub fn default_tolerations(&self) -> DefaultTolerations {
        DefaultTolerations {
            not_ready: self.default_not_ready_toleration_seconds.into(),
            unreachable: self.default_unreachable_toleration_seconds.into(),
        }
    }

    fn enables(&self, name: &str) -> bool {
        self.enable_admission_plugins.iter().any(|enabled| enabled.0 == name)
    }

    /// Returns whether a plug-in is disabled by its name.
    pub fn disables(&self, name: &str) -> bool {
        self.disable_admission_plugins.iter().any(|disabled| disabled.0 == name)
    }
}
