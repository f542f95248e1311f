//! Matching: a deterministic automaton whose states are made when they are needed, and a simulation of all states at once
//! where it has too many.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use parking_lot::Mutex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind, hybrid};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::MatchError;
use super::alphabet::Alphabet;
use registry_meta::budget::{Budget, Exhausted};

/// Maximum size of a compiled expression.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of nested operators in an expression. The parser counts some twice.
const MAX_NESTED: u32 = 4_000;
/// Maximum size of the automaton's states.
const MAX_CACHED_BYTES: usize = 256 << 10;
/// Size of the automaton's states up to which they are kept for the next text.
const MAX_KEPT_BYTES: usize = 16 << 10;
/// Number of times that the states are dropped before the automaton considers whether making them is worth it.
const MIN_CACHE_CLEARS: usize = 3;
/// Number of letters between two looks at the budget.
const LETTERS_PER_CHECK: u64 = 1024;
/// Number of letters that the automaton reads in a step.
const LETTERS_PER_STEP: u64 = 16;
/// Number of pairs of a state and a letter that the simulation visits in a step.
const VISITS_PER_STEP: u64 = 8;
/// Maximum number of such pairs in one search, which cannot be interrupted.
const MAX_VISITS: u64 = 16_000_000;

/// A compiled expression.
pub(super) struct Engine {
    alphabet: Alphabet,
    /// The expression over the letters of the alphabet.
    hir: Hir,
    dfa: DFA,
    /// The automaton that reads backwards, to find where a match starts.
    reversed: OnceLock<Option<DFA>>,
    simulation: PikeVM,
    /// The number of states of the expression.
    states: usize,
    /// The states that the automaton has made for another text.
    kept: Mutex<Option<Box<Cache>>>,
}

/// The automaton has too many states.
struct GaveUp;

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("states", &self.states).finish_non_exhaustive()
    }
}

// === impl Engine ===

impl Engine {
    /// Compiles an expression in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// Returns why it cannot be compiled.
    pub(super) fn compile(translated: &str) -> Result<Self, &'static str> {
        const TOO_LARGE: &str = "expression too large";
        let mut parser = ParserBuilder::new();
        let parsed = parser.nest_limit(MAX_NESTED).utf8(false).build().parse(translated);
        let hir = parsed.map_err(|_| "invalid syntax")?;
        let (alphabet, hir) = Alphabet::make(&hir)?;
        let nfa = NFA::compiler().configure(nfa_config()).build_from_hir(&hir).map_err(|_| TOO_LARGE)?;
        let states = nfa.states().len();
        let dfa = DFA::builder().configure(dfa_config(states)).build_from_nfa(nfa.clone());
        let dfa = dfa.map_err(|_| TOO_LARGE)?;
        let simulation = PikeVM::new_from_nfa(nfa).map_err(|_| TOO_LARGE)?;
        let reversed = OnceLock::new();
        Ok(Self { alphabet, hir, dfa, reversed, simulation, states, kept: Mutex::new(None) })
    }

    /// Returns whether the expression matches anywhere.
    pub(super) fn is_match(&self, text: &str, budget: &Budget) -> Result<bool, MatchError> {
        let letters = self.letters(text);
        let kept = self.kept.lock().take();
        let mut cache = kept.unwrap_or_else(|| Box::new(self.dfa.create_cache()));
        let outcome = self.end_of_match(&mut cache, &letters, 0, true, budget)?;
        if cache.memory_usage() <= MAX_KEPT_BYTES {
            *self.kept.lock() = Some(cache);
        }
        if let Ok(end) = outcome {
            return Ok(end.is_some());
        }
        self.take_visits(letters.len(), budget)?;
        let input = Input::new(&letters).earliest(true);
        Ok(self.simulation.is_match(&mut self.simulation.create_cache(), input))
    }

    /// Runs the automaton from a place on. Returns the end of the leftmost match; with `is_earliest`, of any match.
    fn end_of_match(
        &self,
        cache: &mut Cache,
        letters: &[u8],
        from: usize,
        is_earliest: bool,
        budget: &Budget,
    ) -> Result<Result<Option<usize>, GaveUp>, Exhausted> {
        let dfa = &self.dfa;
        let Ok(mut state) = dfa.start_state_forward(cache, &Input::new(letters).range(from..)) else {
            return Ok(Err(GaveUp));
        };
        cache.search_start(from);
        let mut end = None;
        let mut unpaid = 0;
        for (at, letter) in letters.iter().enumerate().skip(from) {
            let Ok(next) = dfa.next_state(cache, state, *letter) else { return Ok(Err(GaveUp)) };
            state = next;
            unpaid += 1;
            if state.is_tagged() {
                if state.is_match() {
                    end = Some(at);
                    if is_earliest {
                        break;
                    }
                } else if state.is_dead() {
                    break;
                } else if state.is_quit() {
                    return Ok(Err(GaveUp));
                }
            }
            if unpaid == LETTERS_PER_CHECK {
                cache.search_update(at);
                budget.take_steps(unpaid / LETTERS_PER_STEP)?;
                unpaid = 0;
            }
        }
        cache.search_finish(letters.len());
        budget.take_steps(unpaid / LETTERS_PER_STEP)?;
        if state.is_dead() || is_earliest && end.is_some() {
            return Ok(Ok(end));
        }
        let Ok(state) = dfa.next_eoi_state(cache, state) else { return Ok(Err(GaveUp)) };
        Ok(Ok(if state.is_match() { Some(letters.len()) } else { end }))
    }

    /// Returns the places of matches that do not overlap.
    pub(super) fn find_all(
        &self,
        text: &str,
        limit: usize,
        budget: &Budget,
    ) -> Result<Vec<Range<usize>>, MatchError> {
        let letters = self.letters(text);
        // The offset of each letter's character.
        let mut offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
        offsets.push(text.len());
        let mut caches = (self.dfa.create_cache(), None);
        let mut found = Vec::new();
        let mut at = 0;
        let mut last_end = None;
        while found.len() < limit && at <= letters.len() {
            budget.take_steps(1)?;
            let Some(place) = self.find(&mut caches, &letters, at, budget)? else { break };
            // An empty match behind another one is none.
            if place.is_empty() && last_end == Some(place.start) {
                at = place.end + 1;
                continue;
            }
            at = place.end;
            last_end = Some(at);
            let offset = |place: usize| offsets.get(place).copied().unwrap_or(text.len());
            found.push(offset(place.start)..offset(place.end));
        }
        Ok(found)
    }

    /// Returns the place of the leftmost match from a place on.
    fn find(
        &self,
        (cache, reversed): &mut (Cache, Option<Cache>),
        letters: &[u8],
        from: usize,
        budget: &Budget,
    ) -> Result<Option<Range<usize>>, Exhausted> {
        match self.end_of_match(cache, letters, from, false, budget)? {
            Ok(None) => return Ok(None),
            Ok(Some(end)) => {
                budget.take_steps((end - from) as u64 / LETTERS_PER_STEP)?;
                if let Some(start) = self.start_of_match(reversed, letters, from..end) {
                    return Ok(Some(start..end));
                }
            }
            Err(GaveUp) => {}
        }
        self.take_visits(letters.len() - from, budget)?;
        let input = Input::new(letters).range(from..);
        let found = self.simulation.find(&mut self.simulation.create_cache(), input);
        Ok(found.map(|found| found.range()))
    }

    /// Returns the start of a match with a known end; `None` if the automaton gives up.
    fn start_of_match(
        &self,
        cache: &mut Option<Cache>,
        letters: &[u8],
        place: Range<usize>,
    ) -> Option<usize> {
        let dfa = self.reversed.get_or_init(|| reversed(&self.hir)).as_ref()?;
        let cache = cache.get_or_insert_with(|| dfa.create_cache());
        let input = Input::new(letters).range(place).anchored(Anchored::Yes);
        let start = dfa.try_search_rev(cache, &input).ok()??;
        Some(start.offset())
    }

    fn letters(&self, text: &str) -> Vec<u8> {
        text.chars().map(|character| self.alphabet.letter(character)).collect()
    }

    /// Takes the steps of a simulation over this number of letters.
    fn take_visits(&self, letters: usize, budget: &Budget) -> Result<(), Exhausted> {
        let visits = (letters as u64).saturating_mul(self.states as u64);
        if visits > MAX_VISITS {
            return Err(Exhausted::Steps);
        }
        budget.take_steps(visits / VISITS_PER_STEP)?;
        budget.check()
    }
}

/// Compiles the expression that matches the same backwards.
fn reversed(hir: &Hir) -> Option<DFA> {
    let nfa = NFA::compiler()
        .configure(nfa_config().reverse(true).which_captures(WhichCaptures::None))
        .build_from_hir(hir)
        .ok()?;
    let config = dfa_config(nfa.states().len()).match_kind(MatchKind::All);
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

fn nfa_config() -> thompson::Config {
    thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(MAX_BYTES))
        .which_captures(WhichCaptures::Implicit)
}

/// Making a state takes time proportional to the size of the expression: each has to serve as many letters.
fn dfa_config(states: usize) -> hybrid::dfa::Config {
    DFA::config()
        .match_kind(MatchKind::LeftmostFirst)
        .cache_capacity(MAX_CACHED_BYTES)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(Some(MIN_CACHE_CLEARS))
        .minimum_bytes_per_state(Some(states.max(10)))
}
