//! The page `docs/reference/rules.md`, and the least number of cases of a kind.

use std::collections::BTreeMap;

use registry_core::registry::{InstalledApi, InstalledPath};

use super::{all_cases, all_kinds};

/// The kinds with the greatest numbers of rules.
const GREATEST: [&str; 10] = [
    "Job",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "ResourceClaim",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "ValidatingAdmissionPolicy",
];

/// Whether objects of a kind can be created, and its version is stable. Versions before that have the rules of the stable
/// version, or are off by default.
pub(crate) fn is_stable_kind(path: &InstalledPath) -> bool {
    let version = path.resource.kind.version;
    let is_stable = !version.contains("alpha") && !version.contains("beta");
    // Kinds of one's own beside Kubernetes' were not recorded.
    let is_kubernetes = path.resource.is_builtin;
    path.subresource.is_none() && path.capabilities.creater.is_some() && is_stable && is_kubernetes
}

pub(crate) fn each_kind_has_a_table() {
    let installed = all_kinds();
    let counts = counts();
    let mut missing = Vec::new();
    for path in installed.paths.iter().filter(|path| is_stable_kind(path)) {
        let kind = path.resource.kind;
        let count_of = |version: &str| {
            counts
                .get(&(kind.kind.to_owned(), version.to_owned()))
                .map_or(0, |(accepted, refused)| accepted + refused)
        };
        let cases = count_of("") + count_of(kind.version);
        let wanted = if GREATEST.contains(&kind.kind) { 40 } else { 10 };
        if cases < wanted {
            missing.push(format!(
                "{} {}: {cases} of {wanted}",
                kind.group_version().api_version(),
                kind.kind
            ));
        }
    }
    assert!(missing.is_empty(), "cases are missing:\n{}", missing.join("\n"));
}

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/rules.md");

/// Returns the numbers of cases of each kind, perhaps in one version: those that are accepted, and those that are refused.
fn counts() -> BTreeMap<(String, String), (usize, usize)> {
    let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for case in all_cases().iter().filter(|case| case.get("cells").is_none()) {
        let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let (accepted, refused) = counts.entry((text("kind"), text("version"))).or_default();
        let count = if case.get("errors").is_none() { accepted } else { refused };
        *count += 1;
    }
    counts
}

fn reference(installed: &InstalledApi) -> String {
    let counts = counts();
    let mut rows: Vec<String> = Vec::new();
    for path in installed.paths.iter().filter(|path| path.subresource.is_none()) {
        let resource = &path.resource;
        let of = |version: &str| counts.get(&(resource.kind.kind.to_owned(), version.to_owned()));
        // Cases without a version are those of the stored one.
        let of_any = of("").filter(|_| resource.hub.is_none());
        let Some((accepted, refused)) = of_any.or_else(|| of(resource.kind.version)) else { continue };
        let place = resource.declared_at.split(':').next().unwrap_or_default();
        let place = place.trim_end_matches(".rs");
        rows.push(format!(
            "| {} | {} | {accepted} | {refused} | `{place}` |",
            resource.kind.kind,
            resource.group_version().api_version()
        ));
    }
    rows.sort();
    format!(
        "<!-- Written and checked by the test `the_reference_lists_the_tables`. Do not edit. -->\n\n# Rules\n\nThe tables in \
         `resources/tests/rules` hold objects with the errors and warnings that kube-apiserver has for them: new objects, changes of \
         them, and changes of their status. The rules of a kind are in the file that declares it and in the folder of the same \
         name; what several kinds share is beside it.\n\n| kind | version | accepted | refused | rules |\n|---|---|---|---|---|\n{}\n",
        rows.join("\n")
    )
}

/// Run with `UPDATE_REFERENCE=1` to write it.
pub(crate) fn the_reference_lists_the_tables() {
    let installed = all_kinds();
    let text = reference(&installed);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(REFERENCE, &text).unwrap();
    }
    let written = std::fs::read_to_string(REFERENCE).unwrap_or_default();
    assert!(written == text, "{REFERENCE} is not what there is: run with UPDATE_REFERENCE=1");
}
