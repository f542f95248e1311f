//! Files of a volume whose paths overlap: one replaces the other, or cannot be made.

use resource_views::core::v1::{DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection};
use resource_views::{List, Text};

/// Maximum number of compared pairs of paths. Clients receive far fewer warnings.
const MAX_COMPARISONS: usize = 10_000;

/// A path, and the object that it comes from.
struct File {
    path: String,
    source: String,
}

impl File {
    fn text(&self) -> String {
        match self.source.as_str() {
            "" => format!("{:?}", self.path),
            source => format!("{:?} ({source})", self.path),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_below = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !other.path.is_empty() && (is_below(&self.path, &other.path) || is_below(&other.path, &self.path))
    }
}

/// Returns warnings about overlapping paths in each volume.
pub(super) fn overlapping(volumes: &List<Volume<'_, '_>>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut left = MAX_COMPARISONS;
    for volume in volumes.elements() {
        let name = volume.name().text();
        let (map, secret) = (volume.config_map(), volume.secret());
        let described = format!("ConfigMap {:?}", map.name().text());
        compare(name, &described, key_files(&map.items(), ""), &mut left, &mut warnings);
        let described = format!("Secret {:?}", secret.secret_name().text());
        compare(name, &described, key_files(&secret.items(), ""), &mut left, &mut warnings);
        let fields = field_files(&volume.downward_api().items(), "");
        compare(name, "DownwardAPI", fields, &mut left, &mut warnings);
        let projected = volume.projected();
        let mut all = Vec::new();
        for source in projected.sources().elements() {
            if source.has_no_fields() {
                warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
            }
            all.extend(projected_files(&source));
        }
        compare(name, "Projected", all, &mut left, &mut warnings);
    }
    warnings
}

fn file(path: &Text<'_, '_>, source: &str) -> File {
    File { path: path.text().trim_end_matches('/').to_owned(), source: source.to_owned() }
}

fn key_files(items: &List<KeyToPath<'_, '_>>, source: &str) -> Vec<File> {
    items.elements().map(|item| file(&item.path(), source)).collect()
}

fn field_files(items: &List<DownwardAPIVolumeFile<'_, '_>>, source: &str) -> Vec<File> {
    items.elements().map(|item| file(&item.path(), source)).collect()
}

fn projected_files(source: &VolumeProjection<'_, '_>) -> Vec<File> {
    let (map, secret) = (source.config_map(), source.secret());
    if map.items().exists() {
        return key_files(&map.items(), &format!("ConfigMap {:?}", map.name().text()));
    }
    if secret.items().exists() {
        return key_files(&secret.items(), &format!("Secret {:?}", secret.name().text()));
    }
    let fields = source.downward_api();
    if fields.items().exists() {
        return field_files(&fields.items(), "DownwardAPI");
    }
    let token = source.service_account_token();
    if token.exists() {
        return vec![file(&token.path(), "ServiceAccountToken")];
    }
    let bundle = source.cluster_trust_bundle();
    if bundle.exists() {
        let name = bundle.name().optional_text().unwrap_or_else(|| bundle.signer_name().text());
        return vec![file(&bundle.path(), &format!("ClusterTrustBundle {name:?}"))];
    }
    let certificate = source.pod_certificate();
    let files = [
        (certificate.certificate_chain_path(), "PodCertificate chain"),
        (certificate.key_path(), "PodCertificate key"),
        (certificate.credential_bundle_path(), "PodCertificate credential bundle"),
    ];
    files.iter().filter(|(path, _)| !path.text().is_empty()).map(|(path, name)| file(path, name)).collect()
}

fn compare(volume: &str, described: &str, files: Vec<File>, left: &mut usize, warnings: &mut Vec<String>) {
    let mut before: Vec<File> = Vec::with_capacity(files.len());
    for file in files {
        for other in before.iter().filter(|_| !file.path.is_empty()) {
            if *left == 0 {
                return;
            }
            *left -= 1;
            if file.overlaps(other) {
                warnings.push(format!(
                    "volume {volume:?} ({described}): overlapping paths: {} with {}",
                    file.text(),
                    other.text()
                ));
            }
        }
        before.push(file);
    }
}
