//! Files of a volume whose paths overlap: one replaces the other, or cannot be made.

use crate::support::field::Field;

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
pub(super) fn overlapping(volumes: &Field<'_, '_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut left = MAX_COMPARISONS;
    for volume in volumes.elements() {
        let name = volume.get("name").text();
        for (kind, name_field, word) in
            [("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret"), ("downwardAPI", "", "")]
        {
            let source = volume.get(kind);
            let described = match word {
                "" => "DownwardAPI".to_owned(),
                _ => format!("{word} {:?}", source.get(name_field).text()),
            };
            compare(name, &described, files(&source, ""), &mut left, &mut warnings);
        }
        let projected = volume.get("projected");
        let mut all = Vec::new();
        for source in projected.get("sources").elements() {
            if source.is_empty() {
                warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
            }
            all.extend(projected_files(&source));
        }
        compare(name, "Projected", all, &mut left, &mut warnings);
    }
    warnings
}

fn files(source: &Field<'_, '_>, described: &str) -> Vec<File> {
    let items = source.get("items");
    let file = |item: Field<'_, '_>| File {
        path: item.get("path").text().trim_end_matches('/').to_owned(),
        source: described.to_owned(),
    };
    items.elements().map(file).collect()
}

fn projected_files(source: &Field<'_, '_>) -> Vec<File> {
    for (kind, word) in [("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "")] {
        let projection = source.get(kind);
        if projection.get("items").exists() {
            return match word {
                "" => files(&projection, "DownwardAPI"),
                _ => files(&projection, &format!("{word} {:?}", projection.get("name").text())),
            };
        }
    }
    let token = source.get("serviceAccountToken");
    if !token.exists() {
        return Vec::new();
    }
    let path = token.get("path").text().trim_end_matches('/').to_owned();
    vec![File { path, source: "ServiceAccountToken".to_owned() }]
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
