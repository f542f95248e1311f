//! Kept answers. One token is asked about once at a time, however many requests show it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use registry_core::rest::access::InvalidToken;
use ring::digest::{Context, SHA256};
use tokio::time::Instant;

use crate::authentication::chain::{AuthenticatedToken, TokenOutcome};

/// Maximum number of kept answers; when it is reached, all are forgotten.
const MAX_KEPT: usize = 8192;
/// Maximum number of tokens that are asked about at once.
const MAX_ASKED: usize = 1024;

/// Hash of a token and audiences, so that no token can be read from memory.
type Key = [u8; 32];

/// Answers by token.
#[derive(Clone)]
pub(super) struct TokenCache {
    ttl: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    kept: HashMap<Key, Kept>,
    asked: HashMap<Key, Shared<BoxFuture<'static, TokenOutcome>>>,
}

struct Kept {
    answer: Option<AuthenticatedToken>,
    until: Instant,
}

/// A token that is being asked about until this is dropped, also if that panics.
struct Asking {
    cache: TokenCache,
    key: Key,
}

/// Error of a token that is not asked about.
#[derive(Debug, thiserror::Error)]
#[error("too many tokens are being reviewed")]
struct TooManyTokens;

// === impl TokenCache ===

impl TokenCache {
    /// Keeps answers for this time.
    pub(super) fn new(ttl: Duration) -> Self {
        Self { ttl, state: Arc::default() }
    }

    /// Returns the kept answer for a token, or the one of `ask`. Errors are not kept.
    pub(super) async fn get_or_ask<F>(
        &self,
        token: &str,
        audiences: &[String],
        ask: impl FnOnce() -> F,
    ) -> TokenOutcome
    where
        F: Future<Output = TokenOutcome> + Send + 'static,
    {
        let key = key(token, audiences);
        let answer = {
            let mut state = self.state.lock();
            if let Some(kept) = state.kept.get(&key).filter(|kept| Instant::now() < kept.until) {
                return Ok(kept.answer.clone());
            }
            match state.asked.get(&key) {
                Some(asked) => asked.clone(),
                None if state.asked.len() >= MAX_ASKED => {
                    return Err(InvalidToken::refused(TooManyTokens));
                }
                None => {
                    let answer = self.clone().asked(key, ask());
                    state.asked.insert(key, answer.clone());
                    answer
                }
            }
        };
        answer.await
    }

    /// Asks in a task of its own, which does not end with the request that needs the answer first.
    fn asked(
        self,
        key: Key,
        answer: impl Future<Output = TokenOutcome> + Send + 'static,
    ) -> Shared<BoxFuture<'static, TokenOutcome>> {
        let task = tokio::spawn(async move {
            // Not before: a task that cannot begin is dropped here, while the state is locked.
            let asking = Asking { cache: self, key };
            let outcome = answer.await;
            asking.cache.keep(key, &outcome);
            drop(asking);
            outcome
        });
        task.map(|ended| ended.unwrap_or_else(|error| Err(InvalidToken::refused(error)))).boxed().shared()
    }

    fn keep(&self, key: Key, outcome: &TokenOutcome) {
        let mut state = self.state.lock();
        if let Ok(answer) = outcome
            && !self.ttl.is_zero()
        {
            if state.kept.len() >= MAX_KEPT {
                state.kept.clear();
            }
            state.kept.insert(key, Kept { answer: answer.clone(), until: Instant::now() + self.ttl });
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.cache.state.lock().asked.remove(&self.key);
    }
}

fn key(token: &str, audiences: &[String]) -> Key {
    let mut hash = Context::new(&SHA256);
    for part in std::iter::once(token).chain(audiences.iter().map(String::as_str)) {
        hash.update(&part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut key = Key::default();
    key.copy_from_slice(hash.finish().as_ref());
    key
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use registry_core::context::UserInfo;

    use super::*;

    fn token_of(name: &str) -> AuthenticatedToken {
        let user = UserInfo { name: name.to_owned(), ..UserInfo::default() };
        AuthenticatedToken { user, audiences: None }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_for_their_time_and_errors_are_not() {
        let cache = TokenCache::new(Duration::from_secs(10));
        let calls = Arc::new(AtomicUsize::default());
        let ask = |outcome: TokenOutcome| {
            let calls = calls.clone();
            move || async move {
                calls.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                outcome
            }
        };
        let own = ["a".to_owned()];
        let get = async |token: &str, audiences: &[String], would_be: Option<&str>| {
            let found = cache.get_or_ask(token, audiences, ask(Ok(would_be.map(token_of)))).await.unwrap();
            found.map(|found| found.user.name)
        };
        let both = tokio::join!(get("t", &own, Some("x")), get("t", &own, Some("y")));
        assert_eq!(both, (Some("x".to_owned()), Some("x".to_owned())), "asked about once");
        assert_eq!(get("t", &own, Some("y")).await.unwrap(), "x");
        assert_eq!(get("t", &[], Some("z")).await.unwrap(), "z", "for other audiences");
        assert_eq!(get("u", &own, None).await, None);
        assert_eq!(get("u", &own, Some("u")).await, None, "refusals are kept too");
        assert_eq!(calls.load(Ordering::SeqCst), 3);
        for _ in 0..2 {
            assert!(cache.get_or_ask("v", &own, ask(Err(InvalidToken::Unknown))).await.is_err());
        }
        assert_eq!(calls.load(Ordering::SeqCst), 5);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(get("t", &own, Some("y")).await.unwrap(), "y");
    }

    #[tokio::test]
    async fn a_token_is_asked_about_again_after_a_panic() {
        let cache = TokenCache::new(Duration::from_secs(10));
        let panics = || async { panic!("as the test wants it") };
        assert!(cache.get_or_ask("t", &[], panics).await.is_err());
        let found = cache.get_or_ask("t", &[], || async { Ok(Some(token_of("x"))) }).await;
        assert_eq!(found.unwrap(), Some(token_of("x")));
    }
}
