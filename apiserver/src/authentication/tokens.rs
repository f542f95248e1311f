//! Static bearer tokens, read from a file.
//!
//! Kubernetes concept: `--token-auth-file`.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use registry_core::context::UserInfo;
use ring::digest::{SHA256, digest};

use super::chain::{AuthenticatedToken, TokenAnswer, TokenAuthenticator, TokenPurpose};

/// SHA-256 hash of a token.
pub(super) type TokenHash = [u8; 32];

/// Users by the hash of their token, so that the timing of a look-up reveals nothing about the tokens and
/// they cannot be read from the process's memory.
#[derive(Clone, Default)]
pub struct TokenTable {
    users: HashMap<TokenHash, UserInfo>,
}

/// Error of a token file. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read.
    #[error("cannot read the token file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A line is invalid. The text does not repeat the token.
    #[error("line {line}: {problem}")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The reason.
        problem: &'static str,
    },
    /// The file of `--token-auth-file` has an invalid line.
    #[error("--token-auth-file: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The line and the reason.
        source: Box<Self>,
    },
}

// === impl TokenTable ===

impl TokenTable {
    /// Reads the file of `--token-auth-file`; without one there are no tokens.
    pub(super) fn from_option(path: Option<&PathBuf>) -> Result<Self, TokenFileError> {
        path.map_or_else(|| Ok(Self::default()), |path| Self::from_file(path))
    }

    /// Reads a file of lines `token,user,uid,"group1,group2"`.
    pub fn from_file(path: &Path) -> Result<Self, TokenFileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TokenFileError::Read { path: path.to_owned(), source })?;
        Self::parse(&text)
            .map_err(|error| TokenFileError::File { path: path.to_owned(), source: Box::new(error) })
    }

    /// Reads lines `token,user,uid,"group1,group2"`. Empty lines are skipped.
    pub fn parse(text: &str) -> Result<Self, TokenFileError> {
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let failed = |problem| TokenFileError::Line { line: index + 1, problem };
            let mut columns = columns(line).ok_or_else(|| failed("a quote is not closed"))?.into_iter();
            let (Some(token), Some(user), Some(uid)) = (columns.next(), columns.next(), columns.next())
            else {
                return Err(failed("at least token, user and uid are needed"));
            };
            if token.is_empty() || user.is_empty() {
                return Err(failed("the token or the user is empty"));
            }
            let groups = columns.next().unwrap_or_default();
            let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty());
            if !table.insert(&token, &user, &uid, groups) {
                return Err(failed("the token is given twice"));
            }
        }
        Ok(table)
    }

    /// Adds a token. Returns `false` if it exists already.
    fn insert<'a>(
        &mut self,
        token: &str,
        user: &str,
        uid: &str,
        groups: impl Iterator<Item = &'a str>,
    ) -> bool {
        let groups = groups.map(str::to_owned).collect();
        let user = UserInfo { name: user.to_owned(), uid: uid.to_owned(), groups, extra: Vec::new() };
        self.users.insert(hash(token), user).is_none()
    }

    /// Returns the user of a token.
    pub fn user(&self, token: &str) -> Option<&UserInfo> {
        self.users.get(&hash(token))
    }
}

impl TokenAuthenticator for TokenTable {
    fn authenticate<'a>(&'a self, token: &'a str, _: TokenPurpose<'a>) -> TokenAnswer<'a> {
        let found = self.user(token).cloned();
        TokenAnswer::Now(Ok(found.map(|user| AuthenticatedToken { user, audiences: None })))
    }
}

impl fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenTable({} tokens)", self.users.len())
    }
}

/// Returns the hash of a token.
pub(super) fn hash(token: &str) -> TokenHash {
    let mut hash = TokenHash::default();
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

/// Returns the columns of one line of CSV, or `None` when a quote is not closed.
fn columns(line: &str) -> Option<Vec<String>> {
    let mut columns = vec![String::new()];
    let mut characters = line.trim_end().chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                columns.last_mut()?.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(String::new()),
            other => columns.last_mut()?.push(other),
        }
    }
    (!quoted).then(|| columns.into_iter().map(|column| column.trim().to_owned()).collect())
}
