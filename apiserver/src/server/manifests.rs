//! The directories with webhooks and policies that the file of `--admission-control-config-file` names.

use crate::admission::manifests::ManifestDirectories;
use crate::options::Options;

use super::error::ServerError;

/// Reads the directories of the plug-ins that are not disabled.
///
/// # Errors
/// Fails if an object in them cannot be enforced; the text names the plug-in and the file.
pub(super) fn directories(options: &Options) -> Result<ManifestDirectories, ServerError> {
    let configuration = options.admission.configuration(options.feature_gates().features())?;
    ManifestDirectories::read(&configuration, |plugin| !options.admission.disables(plugin))
        .map_err(|(plugin, source)| ServerError::Manifests { plugin, source: Box::new(source) })
}
