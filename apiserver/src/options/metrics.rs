//! The metrics that are shown, and the values of their labels.
//!
//! Kubernetes concept: `Options` of `k8s.io/component-base/metrics`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::Args;
use regex::Regex;

use registry_core::codec::{DecodeError, Limits, yaml};
use serde_json::Value;

use super::ValueError;

/// Flags about `/metrics`.
#[derive(Args, Clone, Debug, Default)]
pub struct MetricsOptions {
    /// Values that labels of metrics may have: `METRIC,LABEL=VALUE,…`, each in double quotes if they are several. All other
    /// values are shown as `unexpected`
    #[arg(long, value_name = "LIST", help_heading = "Metrics")]
    pub allow_metric_labels: Vec<AllowedLabels>,

    /// File with `allowListMapping`, whose entries are those of --allow-metric-labels; the flag takes precedence
    #[arg(long, value_name = "FILE", help_heading = "Metrics")]
    pub allow_metric_labels_manifest: Option<PathBuf>,

    /// Names of metrics that are not shown
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Metrics")]
    pub disabled_metrics: Vec<String>,
}

/// The values that labels may have, by metric and label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedLabels(BTreeMap<(String, String), Vec<String>>);

/// Error of a manifest of `--allow-metric-labels-manifest`. Not retryable before the file changes.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It cannot be read.
    #[error("failed to read allow list manifest: {0}")]
    Unreadable(#[from] std::io::Error),
    /// It is not YAML.
    #[error("failed to parse allow list manifest: {0}")]
    Undecodable(#[from] DecodeError),
    /// An entry is not a list of values.
    #[error("failed to parse allow list manifest: the value of {0:?} is not text")]
    NoText(String),
    /// An entry names no metric and label.
    #[error(transparent)]
    Entry(#[from] ValueError),
}

// === impl MetricsOptions ===

impl MetricsOptions {
    /// Returns the values that labels may have, from the flag, or else from the manifest.
    ///
    /// # Errors
    /// Fails if the manifest cannot be used.
    pub fn allowed_labels(&self) -> Result<AllowedLabels, ManifestError> {
        let mut allowed = AllowedLabels::default();
        for given in &self.allow_metric_labels {
            allowed.0.extend(given.0.clone());
        }
        match &self.allow_metric_labels_manifest {
            Some(path) if allowed.0.is_empty() => AllowedLabels::from_manifest(&std::fs::read(path)?),
            _ => Ok(allowed),
        }
    }
}

// === impl AllowedLabels ===

impl AllowedLabels {
    /// Returns the metric, the label and the allowed values of each entry.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str, &[String])> {
        self.0.iter().map(|((metric, label), values)| (metric.as_str(), label.as_str(), values.as_slice()))
    }

    fn from_manifest(content: &[u8]) -> Result<Self, ManifestError> {
        let manifest = yaml::decode(content, &Limits::default())?.value;
        let mut allowed = Self::default();
        for (key, values) in manifest.get("allowListMapping").and_then(Value::as_object).into_iter().flatten()
        {
            let values = values.as_str().ok_or_else(|| ManifestError::NoText(key.clone()))?;
            allowed.insert(key, values)?;
        }
        Ok(allowed)
    }

    fn insert(&mut self, key: &str, values: &str) -> Result<(), ValueError> {
        static KEY: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new("^([a-zA-Z_:][a-zA-Z0-9_:]*),([a-zA-Z_][a-zA-Z0-9_]*)$").ok());
        let captures =
            KEY.as_ref().and_then(|pattern| pattern.captures(key)).ok_or(ValueError::NoMetricLabel)?;
        let (_, [metric, label]) = captures.extract();
        let values = values.split(',').map(str::to_owned).collect();
        self.0.insert((metric.to_owned(), label.to_owned()), values);
        Ok(())
    }
}

impl FromStr for AllowedLabels {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let entries = match text.matches('=').count() {
            0 => return Err(ValueError::NoKeyValue(text.to_owned())),
            1 => vec![text.trim_matches('"').to_owned()],
            _ => comma_separated(text)?,
        };
        let mut allowed = Self::default();
        for entry in entries {
            let (key, values) = entry.split_once('=').ok_or_else(|| ValueError::NoKeyValue(entry.clone()))?;
            allowed.insert(key, values)?;
        }
        Ok(allowed)
    }
}

/// Splits a line of comma-separated values, of which those in double quotes may contain commas.
fn comma_separated(line: &str) -> Result<Vec<String>, ValueError> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let after;
        if let Some(quoted) = rest.strip_prefix('"') {
            let (field, behind) = quoted.split_once('"').ok_or(ValueError::NoClosingQuote)?;
            fields.push(field.to_owned());
            after = behind;
        } else {
            let (field, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            fields.push(field.to_owned());
            after = behind;
        }
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err(ValueError::NoClosingQuote),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String, Vec<String>)>, String> {
        let allowed: AllowedLabels = text.parse().map_err(|error: ValueError| error.to_string())?;
        let owned = |(metric, label, values): (&str, &str, &[String])| {
            (metric.to_owned(), label.to_owned(), values.to_vec())
        };
        Ok(allowed.entries().map(owned).collect())
    }

    #[test]
    fn allowed_labels_are_pairs_as_go_reads_them() {
        let entry = |metric: &str, label: &str, values: &[&str]| {
            (metric.to_owned(), label.to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
        };
        assert_eq!(parsed("a,l=1,2").unwrap(), [entry("a", "l", &["1", "2"])]);
        assert_eq!(parsed("\"a,l=1,2\"").unwrap(), [entry("a", "l", &["1", "2"])]);
        assert_eq!(
            parsed("\"a,l=1,2\",\"b:c,m=\"").unwrap(),
            [entry("a", "l", &["1", "2"]), entry("b:c", "m", &[""])]
        );
        for (text, message) in [
            ("a,l", "a,l must be formatted as key=value"),
            ("a=1", "--allow-metric-labels must have a list of kv pair with format"),
            ("a,l,m=1", "--allow-metric-labels must have a list of kv pair with format"),
            ("\"a,l=1\",b,m=2", "b must be formatted as key=value"),
            ("\"a,l=1\",\"b,m=2", "bare or missing \" in quoted-field"),
            ("\"a,l=1\"x,b=2", "bare or missing \" in quoted-field"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(message) || error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn the_manifest_counts_if_the_flag_is_not_given() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "allowListMapping:\n  \"a,l\": \"1,2\"\n").unwrap();
        let mut options = MetricsOptions {
            allow_metric_labels_manifest: Some(file.path().to_owned()),
            ..MetricsOptions::default()
        };
        assert_eq!(options.allowed_labels().unwrap(), "a,l=1,2".parse().unwrap());
        options.allow_metric_labels = vec!["b,m=3".parse().unwrap()];
        assert_eq!(options.allowed_labels().unwrap(), "b,m=3".parse().unwrap());
        options.allow_metric_labels = Vec::new();
        for (content, message) in [
            ("allowListMapping:\n  \"a,l\": [1]\n", "the value of \"a,l\" is not text"),
            ("allowListMapping:\n  \"a\": \"1\"\n", "must have a list of kv pair"),
            ("a: [", "failed to parse"),
        ] {
            std::fs::write(file.path(), content).unwrap();
            let error = options.allowed_labels().unwrap_err().to_string();
            assert!(error.contains(message), "{content}: {error}");
        }
    }
}
