//! Configurations of webhooks, and policies with their bindings, in files: `staticManifestsDir` of the plug-ins'
//! configuration.
//!
//! ```text
//! directory ─ files ─ documents ─ objects: decoded, defaulted and validated as by the API ─ checks ─ plug-in
//!     └ looked at once a second: what cannot be used is reported, and changes nothing
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `files` | the files of a directory, and their hash |
//! | `objects` | the objects in them |
//! | `checks` | the rules of objects in files beside those of the API |
//! | `reload` | the plug-ins follow their directories |
//!
//! They are enforced before what the API has, and on the kinds that configure admission too, to which what the API has does not
//! apply: no request changes them.
//!
//! Kubernetes concept: [KEP-5793](https://github.com/kubernetes/enhancements/issues/5793);
//! `k8s.io/apiserver/pkg/admission/plugin/manifest`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use registry_core::resource::{Resource as _, ResourceDescription};
use resources::admission::AdmissionConfiguration;
use resources::api::admissionregistration::mutatingadmissionpolicies::MutatingAdmissionPolicies;
use resources::api::admissionregistration::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings;
use resources::api::admissionregistration::mutatingwebhookconfigurations::MutatingWebhookConfigurations;
use resources::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies;
use resources::api::admissionregistration::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings;
use resources::api::admissionregistration::validatingwebhookconfigurations::ValidatingWebhookConfigurations;

mod checks;
mod error;
mod files;
mod objects;
mod reload;

pub use error::{InvalidManifest, ManifestsError};
use files::ManifestFiles;
pub(super) use objects::Manifests;
pub(crate) use reload::FollowTasks;

/// A plug-in that enforces objects in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ManifestPlugin {
    MutatingPolicies,
    MutatingWebhooks,
    ValidatingPolicies,
    ValidatingWebhooks,
}

/// The directory of a plug-in, and the objects in it when the server started.
pub(crate) struct ManifestDirectory {
    plugin: ManifestPlugin,
    path: PathBuf,
    files: ManifestFiles,
    manifests: Manifests,
}

/// The directories of all plug-ins.
#[derive(Default)]
pub(crate) struct ManifestDirectories(HashMap<ManifestPlugin, ManifestDirectory>);

// === impl ManifestPlugin ===

impl ManifestPlugin {
    const ALL: [Self; 4] =
        [Self::MutatingPolicies, Self::MutatingWebhooks, Self::ValidatingPolicies, Self::ValidatingWebhooks];

    /// Returns the name of the plug-in.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MutatingPolicies => "MutatingAdmissionPolicy",
            Self::MutatingWebhooks => "MutatingAdmissionWebhook",
            Self::ValidatingPolicies => "ValidatingAdmissionPolicy",
            Self::ValidatingWebhooks => "ValidatingAdmissionWebhook",
        }
    }

    /// Returns the kind of configurations or policies.
    fn main_kind(self) -> &'static ResourceDescription {
        match self {
            Self::MutatingPolicies => MutatingAdmissionPolicies::TYPE,
            Self::MutatingWebhooks => MutatingWebhookConfigurations::TYPE,
            Self::ValidatingPolicies => ValidatingAdmissionPolicies::TYPE,
            Self::ValidatingWebhooks => ValidatingWebhookConfigurations::TYPE,
        }
    }

    /// Returns the kind of the bindings of policies; `None` if it has no policies.
    fn binding_kind(self) -> Option<&'static ResourceDescription> {
        match self {
            Self::MutatingPolicies => Some(MutatingAdmissionPolicyBindings::TYPE),
            Self::ValidatingPolicies => Some(ValidatingAdmissionPolicyBindings::TYPE),
            Self::MutatingWebhooks | Self::ValidatingWebhooks => None,
        }
    }
}

// === impl ManifestDirectory ===

impl ManifestDirectory {
    /// Reads the objects in a directory.
    ///
    /// # Errors
    /// Fails if one of them cannot be enforced; the text names the file.
    fn read(plugin: ManifestPlugin, path: &Path) -> Result<Self, ManifestsError> {
        let files = ManifestFiles::read(path).map_err(ManifestsError::Unreadable)?;
        let manifests = Manifests::from_files(plugin, &files)?;
        Ok(Self { plugin, path: path.to_owned(), files, manifests })
    }
}

// === impl ManifestDirectories ===

impl ManifestDirectories {
    /// Reads the directories of the enabled plug-ins.
    ///
    /// # Errors
    /// Fails with the name of the plug-in if an object in its directory cannot be enforced.
    pub(crate) fn read(
        configuration: &AdmissionConfiguration,
        is_enabled: impl Fn(&str) -> bool,
    ) -> Result<Self, (&'static str, ManifestsError)> {
        let mut directories = HashMap::new();
        for plugin in ManifestPlugin::ALL {
            let Some(path) = configuration.static_manifests.get(plugin.name()) else { continue };
            if is_enabled(plugin.name()) {
                let directory = ManifestDirectory::read(plugin, path);
                directories.insert(plugin, directory.map_err(|error| (plugin.name(), error))?);
            }
        }
        Ok(Self(directories))
    }

    /// Removes the directory of a plug-in, which is to follow it.
    pub(crate) fn take(&mut self, plugin: ManifestPlugin) -> Option<ManifestDirectory> {
        self.0.remove(&plugin)
    }

    /// Returns the plug-ins that have a directory.
    pub(crate) fn plugins(&self) -> Vec<&'static str> {
        self.0.keys().map(|plugin| plugin.name()).collect()
    }
}
