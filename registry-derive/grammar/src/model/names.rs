//! Names: English plurals, Kubernetes' name formats, and kube-apiserver's storage prefixes.

/// The groups that kube-apiserver serves from its own storage, with keys that omit the group. The groups of its
/// aggregator and extension server are not included: their keys contain the group, as those of custom resources do.
const BUILT_IN_GROUPS: [&str; 21] = [
    "",
    "admissionregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// The resources whose storage prefixes differ from their plurals.
const SPECIAL_PREFIXES: [(&str, &str, &str); 5] = [
    ("", "replicationcontrollers", "controllers"),
    ("", "endpoints", "services/endpoints"),
    ("", "services", "services/specs"),
    ("", "nodes", "minions"),
    ("networking.k8s.io", "ingresses", "ingress"),
];

/// Returns the plural of a kind, in lower case, by the rules of Kubernetes' own names.
pub fn plural_of(kind: &str) -> String {
    let word = kind.to_lowercase();
    if word == "endpoints" {
        return word;
    }
    if ["s", "x", "z", "ch", "sh"].iter().any(|ending| word.ends_with(ending)) {
        return format!("{word}es");
    }
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

/// Returns kube-apiserver's storage prefix below `/registry`: the plural for built-in resources, group and plural for
/// others.
pub(crate) fn default_storage_prefix(group: &str, plural: &str) -> String {
    let special = SPECIAL_PREFIXES.iter().find(|(g, p, _)| *g == group && *p == plural);
    match special {
        Some((_, _, prefix)) => (*prefix).to_owned(),
        None if BUILT_IN_GROUPS.contains(&group) => plural.to_owned(),
        None => format!("{group}/{plural}"),
    }
}

/// Whether the text is a DNS-1123 subdomain, as groups are; the core group is empty.
pub(crate) fn is_group(text: &str) -> bool {
    text.is_empty() || text.len() <= 253 && text.split('.').all(is_label)
}

/// Whether the text is a version such as `v1` or `v2beta3`.
pub(crate) fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let number = |text: &str| {
        !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    match rest.split_once("alpha").or_else(|| rest.split_once("beta")) {
        Some((major, minor)) => number(major) && number(minor),
        None => number(rest),
    }
}

/// Whether the text is a DNS-1123 label, as resource names, short names and categories are.
pub(crate) fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 63
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether the text is in CamelCase, starting with an upper-case letter.
pub(crate) fn is_kind(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether the text is a key prefix: segments separated by slashes, without leading and trailing ones.
pub(crate) fn is_storage_prefix(text: &str) -> bool {
    text.split('/').all(|segment| {
        !segment.is_empty()
            && segment != "."
            && segment != ".."
            && segment.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

/// Returns the known name that is most like a name, if it is a misspelling of it.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let distances = known.into_iter().map(|known| (distance(name, known), known));
    distances.min().filter(|(distance, _)| *distance <= 2).map(|(_, known)| known)
}

/// Returns the number of letters to insert, remove or replace to turn a text into another one.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut next = vec![index + 1];
        for ((place, other), pair) in to.iter().enumerate().zip(row.windows(2)) {
            let [diagonal, above] = pair else { continue };
            let left = next.get(place).copied().unwrap_or(usize::MAX);
            next.push((diagonal + usize::from(letter != *other)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
