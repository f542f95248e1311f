//! The place of a store, for the commands that move it: `embedded:DIRECTORY` or `etcd=URL,…`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::ValueError;

/// The place of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// The embedded store in a data directory, that of `--data-dir`.
    Embedded(PathBuf),
    /// An etcd, by its endpoints.
    Etcd(Vec<String>),
}

// === impl StoreLocation ===

impl FromStr for StoreLocation {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let refused = || ValueError::StoreLocation(text.to_owned());
        if let Some(directory) = text.strip_prefix("embedded:").filter(|directory| !directory.is_empty()) {
            return Ok(Self::Embedded(directory.into()));
        }
        let servers: Vec<String> =
            text.strip_prefix("etcd=").ok_or_else(refused)?.split(',').map(str::to_owned).collect();
        if servers.iter().any(String::is_empty) { Err(refused()) } else { Ok(Self::Etcd(servers)) }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(directory) => write!(f, "{}", directory.display()),
            Self::Etcd(servers) => f.write_str(&servers.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_directory_or_an_etcd() {
        let embedded = StoreLocation::Embedded("data".into());
        assert_eq!("embedded:data".parse(), Ok(embedded));
        let etcd = StoreLocation::Etcd(vec!["http://a:1".to_owned(), "http://b:2".to_owned()]);
        assert_eq!("etcd=http://a:1,http://b:2".parse(), Ok(etcd));
        for wrong in
            ["", "data", "embedded:", "etcd=", "etcd=http://a:1,", "etcd:http://a:1", "embedded=data"]
        {
            let refused = wrong.parse::<StoreLocation>().unwrap_err().to_string();
            assert!(refused.contains("embedded:DIRECTORY or etcd=URL"), "{wrong}: {refused}");
        }
    }
}
