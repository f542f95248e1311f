//! The served kinds, as admission plug-ins see them.

use std::sync::Arc;

use registry_core::registry::InstalledPath;

use crate::admission::ServedKinds;

use super::api::Api;

impl ServedKinds for Api {
    fn path(
        &self,
        group: &str,
        version: &str,
        resource: &str,
        subresource: &str,
    ) -> Option<Arc<InstalledPath>> {
        let served = self.served();
        let route = served.find_version(group, version)?.route(resource, subresource)?;
        Some(route.path.clone())
    }

    fn path_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<InstalledPath>> {
        let served = self.served();
        let route = served.find_version(group, version)?.route_of_kind(kind)?;
        Some(route.path.clone())
    }

    fn equivalents(&self, path: &InstalledPath) -> Vec<Arc<InstalledPath>> {
        self.served().equivalents(path)
    }

    fn groups(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        self.served().group_versions()
    }

    fn paths(&self, group: &str, version: &str) -> Vec<Arc<InstalledPath>> {
        let served = self.served();
        served.find_version(group, version).map(|version| version.shared_paths()).unwrap_or_default()
    }
}
