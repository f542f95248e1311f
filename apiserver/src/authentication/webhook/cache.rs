//! Kept answers. One token is asked about once at a time, however many requests show it.
//!
//! Whoever knows an address of the server can show any number of tokens that nobody knows. Therefore reviews take turns by
//! the address that shows the token, in a bounded queue, and tokens that were accepted before have turns of their own. A
//! token that gets no turn is not invalid: the request is answered with 503, and its client tries again. Accepted and
//! refused tokens are kept apart, so that refused ones replace none that are accepted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use registry_core::rest::access::InvalidToken;
use ring::digest::{Context, SHA256};
use tokio::time::{Instant, timeout};

use crate::authentication::chain::{AuthenticatedToken, TokenOutcome, TokenPurpose};
use crate::shares::{Turn, TurnBounds, Turns, origin};

use super::kept::{Kept, Key};

/// Maximum number of kept answers about accepted tokens, and of those about refused ones.
const MAX_KEPT: usize = 8192;
/// Reviews at once for each address, and tokens that are reviewed or wait for it.
const REVIEWS: TurnBounds = TurnBounds { at_once: 32, queued: 4096 };
/// Reviews at once of tokens that were accepted before. They are the only holder, which gets half of the queue: all that are
/// known find a place.
const REPEATED_REVIEWS: TurnBounds = TurnBounds { at_once: 64, queued: 2 * MAX_KEPT };
/// Maximum time for which a token waits for its review.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Answers by token.
#[derive(Clone)]
pub(super) struct TokenCache {
    ttl: Duration,
    state: Arc<Mutex<State>>,
    turns: Arc<ReviewTurns>,
}

/// The turns of reviews. Those of tokens that were accepted before have a queue of their own, so that not even a flood from
/// many addresses fills it.
struct ReviewTurns {
    unknown: Turns<Asker>,
    repeated: Turns<Asker>,
}

struct State {
    accepted: Kept<AuthenticatedToken>,
    refused: Kept<()>,
    asked: HashMap<Key, Asked>,
}

/// The answer to come.
type Asked = Shared<BoxFuture<'static, TokenOutcome>>;

/// Those who share the turns of reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Asker {
    /// Everybody whose token was accepted before, which cannot be made up.
    Accepted,
    /// An address.
    Origin(IpAddr),
}

/// A token that is being asked about until this is dropped, also if that panics.
struct Asking {
    cache: TokenCache,
    key: Key,
}

// === impl TokenCache ===

impl TokenCache {
    /// Keeps answers for this time.
    pub(super) fn new(ttl: Duration) -> Self {
        let turns = ReviewTurns { unknown: Turns::new(REVIEWS), repeated: Turns::new(REPEATED_REVIEWS) };
        Self { ttl, state: Arc::default(), turns: Arc::new(turns) }
    }

    /// Returns the kept answer for a token, or the one of `ask`. Errors are not kept.
    pub(super) async fn get_or_ask<F>(
        &self,
        token: &str,
        purpose: TokenPurpose<'_>,
        ask: impl FnOnce() -> F,
    ) -> TokenOutcome
    where
        F: Future<Output = TokenOutcome> + Send + 'static,
    {
        let key = key(token, purpose.audiences);
        let answer = {
            let mut state = self.state.lock();
            if let Some(kept) = state.kept(&key) {
                return kept;
            }
            if let Some(asked) = state.asked.get(&key) {
                asked.clone()
            } else {
                // Reviews that the API is asked for are bounded as its other requests are.
                let was_accepted = state.accepted.contains(&key);
                let asker = purpose.origin.map(|address| {
                    if was_accepted { Asker::Accepted } else { Asker::Origin(origin(address)) }
                });
                let answer = self.clone().asked(key, asker, ask());
                state.asked.insert(key, answer.clone());
                answer
            }
        };
        answer.await
    }

    /// Asks in a task of its own, which does not end with the request that needs the answer first.
    fn asked(
        self,
        key: Key,
        asker: Option<Asker>,
        answer: impl Future<Output = TokenOutcome> + Send + 'static,
    ) -> Asked {
        let task = tokio::spawn(async move {
            // Not before: a task that cannot begin is dropped here, while the state is locked.
            let asking = Asking { cache: self, key };
            let outcome = match asking.cache.turn(asker).await {
                Ok(_turn) => answer.await,
                Err(busy) => Err(busy),
            };
            asking.cache.keep(key, &outcome);
            drop(asking);
            outcome
        });
        task.map(|ended| ended.unwrap_or_else(|error| Err(InvalidToken::refused(error)))).boxed().shared()
    }

    /// Waits for a turn, if turns are counted.
    async fn turn(&self, asker: Option<Asker>) -> Result<Option<Turn<'_, Asker>>, InvalidToken> {
        let Some(asker) = asker else { return Ok(None) };
        let turns = match asker {
            Asker::Accepted => &self.turns.repeated,
            Asker::Origin(_) => &self.turns.unknown,
        };
        match timeout(MAX_WAIT, turns.take(&asker)).await {
            Ok(Ok(turn)) => Ok(Some(turn)),
            Ok(Err(_)) | Err(_) => Err(InvalidToken::NotReviewed),
        }
    }

    fn keep(&self, key: Key, outcome: &TokenOutcome) {
        let mut state = self.state.lock();
        let until = Instant::now() + self.ttl;
        match outcome {
            Err(_) => {}
            Ok(_) if self.ttl.is_zero() => {}
            Ok(Some(accepted)) => {
                state.refused.remove(&key);
                state.accepted.insert(key, accepted.clone(), until);
            }
            Ok(None) => {
                state.accepted.remove(&key);
                state.refused.insert(key, (), until);
            }
        }
    }
}

// === impl State ===

impl State {
    /// Returns the answer about a token that is kept and still holds.
    fn kept(&self, key: &Key) -> Option<TokenOutcome> {
        if let Some(accepted) = self.accepted.get(key) {
            return Some(Ok(Some(accepted.clone())));
        }
        self.refused.get(key).map(|()| Ok(None))
    }
}

impl Default for State {
    fn default() -> Self {
        Self { accepted: Kept::new(MAX_KEPT), refused: Kept::new(MAX_KEPT), asked: HashMap::new() }
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

    /// The purpose of tokens that requests from the last part of this IPv4 address show.
    fn shown_from(last: u8) -> TokenPurpose<'static> {
        TokenPurpose { audiences: &[], origin: Some([192, 0, 2, last].into()) }
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
            let found = cache
                .get_or_ask(token, TokenPurpose { audiences, origin: None }, ask(Ok(would_be.map(token_of))))
                .await
                .unwrap();
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
            assert!(cache.get_or_ask("v", shown_from(1), ask(Err(InvalidToken::Unknown))).await.is_err());
        }
        assert_eq!(calls.load(Ordering::SeqCst), 5);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(get("t", &own, Some("y")).await.unwrap(), "y");
    }

    #[tokio::test]
    async fn a_token_is_asked_about_again_after_a_panic() {
        let cache = TokenCache::new(Duration::from_secs(10));
        let panics = || async { panic!("as the test wants it") };
        assert!(cache.get_or_ask("t", shown_from(1), panics).await.is_err());
        let found = cache.get_or_ask("t", shown_from(1), || async { Ok(Some(token_of("x"))) }).await;
        assert_eq!(found.unwrap(), Some(token_of("x")));
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_from_one_address_hold_up_nobody_elsewhere() {
        let cache = TokenCache::new(Duration::from_secs(1));
        let accepts = |name: &str| {
            let accepted = token_of(name);
            || async { Ok(Some(accepted)) }
        };
        let known = cache.get_or_ask("known", shown_from(1), accepts("known")).await;
        assert!(known.unwrap().is_some());
        tokio::time::sleep(Duration::from_secs(1)).await;

        // One address shows tokens whose reviews never end.
        let begun = Arc::new(AtomicUsize::default());
        let mut flood = Vec::new();
        for number in 0..REVIEWS.queued {
            let (cache, begun) = (cache.clone(), begun.clone());
            flood.push(tokio::spawn(async move {
                let never = || async move {
                    begun.fetch_add(1, Ordering::SeqCst);
                    std::future::pending().await
                };
                cache.get_or_ask(&format!("unknown-{number}"), shown_from(1), never).await
            }));
        }
        while begun.load(Ordering::SeqCst) < REVIEWS.at_once {
            tokio::task::yield_now().await;
        }
        let refused = cache.get_or_ask("own", shown_from(1), accepts("own")).await.unwrap_err();
        assert!(matches!(refused, InvalidToken::NotReviewed), "its own address has no turn: {refused}");
        let other = cache.get_or_ask("other", shown_from(2), accepts("other")).await;
        assert_eq!(other.unwrap(), Some(token_of("other")), "another address has");
        let again = cache.get_or_ask("known", shown_from(1), accepts("again")).await;
        assert_eq!(again.unwrap(), Some(token_of("again")), "so has a token that was accepted before");

        // Those in the queue wait for a time, and are not taken for invalid.
        let mut waited = 0;
        for shown in flood {
            if let Ok(answered) = timeout(MAX_WAIT * 2, shown).await {
                assert!(matches!(answered.unwrap(), Err(InvalidToken::NotReviewed)));
                waited += 1;
            }
        }
        assert_eq!(
            (waited, begun.load(Ordering::SeqCst)),
            (REVIEWS.queued - REVIEWS.at_once, REVIEWS.at_once)
        );
        assert_eq!(cache.state.lock().asked.len(), REVIEWS.at_once, "nothing of the others is left");
    }

    #[tokio::test(start_paused = true)]
    async fn refused_tokens_replace_no_accepted_ones() {
        let cache = TokenCache::new(Duration::from_hours(1));
        let accepted = || async { Ok(Some(token_of("x"))) };
        cache.get_or_ask("good", shown_from(1), accepted).await.unwrap();
        for number in 0..=MAX_KEPT {
            let refused = || async { Ok(None) };
            let answer = cache.get_or_ask(&format!("unknown-{number}"), shown_from(2), refused).await;
            assert_eq!(answer.unwrap(), None);
        }
        let panics = || async { panic!("it is asked about again") };
        assert!(cache.get_or_ask("good", shown_from(1), panics).await.unwrap().is_some());
        let last = format!("unknown-{MAX_KEPT}");
        assert_eq!(
            cache.get_or_ask(&last, shown_from(2), panics).await.unwrap(),
            None,
            "the others are kept"
        );
        let first = cache.get_or_ask("unknown-0", shown_from(2), accepted).await;
        assert!(first.unwrap().is_some(), "the oldest one made room");
    }
}
