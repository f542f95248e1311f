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
                    return Err(InvalidToken("too many tokens are being reviewed".to_owned()));
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
            let outcome = answer.await;
            self.keep(key, &outcome);
            outcome
        });
        task.map(|ended| ended.unwrap_or_else(|error| Err(InvalidToken(error.to_string())))).boxed().shared()
    }

    fn keep(&self, key: Key, outcome: &TokenOutcome) {
        let mut state = self.state.lock();
        state.asked.remove(&key);
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
        let both = tokio::join!(
            cache.get_or_ask("t", &own, ask(Ok(Some(token_of("x"))))),
            cache.get_or_ask("t", &own, ask(Ok(Some(token_of("y")))))
        );
        assert_eq!((both.0, both.1), (Ok(Some(token_of("x"))), Ok(Some(token_of("x")))), "asked about once");
        assert_eq!(cache.get_or_ask("t", &own, ask(Ok(Some(token_of("y"))))).await, Ok(Some(token_of("x"))));
        assert_eq!(
            cache.get_or_ask("t", &[], ask(Ok(Some(token_of("z"))))).await,
            Ok(Some(token_of("z"))),
            "for other audiences"
        );
        assert_eq!(cache.get_or_ask("u", &own, ask(Ok(None))).await, Ok(None));
        assert_eq!(
            cache.get_or_ask("u", &own, ask(Ok(Some(token_of("u"))))).await,
            Ok(None),
            "refusals are kept too"
        );
        assert_eq!(calls.load(Ordering::SeqCst), 3);
        for _ in 0..2 {
            assert!(cache.get_or_ask("v", &own, ask(Err(InvalidToken("down".to_owned())))).await.is_err());
        }
        assert_eq!(calls.load(Ordering::SeqCst), 5);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(cache.get_or_ask("t", &own, ask(Ok(Some(token_of("y"))))).await, Ok(Some(token_of("y"))));
    }
}
