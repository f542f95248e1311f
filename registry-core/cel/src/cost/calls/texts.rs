//! The costs of functions of texts and bytes.

use super::super::sizes::Sizes;
use super::super::{CostEstimate, STRING_TRAVERSAL_FACTOR, SizeEstimate, ceil_factor};
use super::{Call, CallEstimate, Evaluated, cost, sized, traversal, traversed};
use crate::declarations::TextCost;
use crate::value::{Foreign, Value};

/// The cost of a character of a regular expression.
const REGEX_LENGTH_FACTOR: f64 = 0.25;
/// The length of the longest regular expression of a format.
const MAX_FORMAT_REGEX_SIZE: f64 = 128.0;

// === impl TextCost ===

impl TextCost {
    /// The estimate of a call.
    pub(super) fn estimate<'e>(self, call: &Call<'_, 'e>, sizes: &Sizes<'e>) -> CallEstimate {
        let size = |index| call.size(index);
        let read = |times: f64| size(0).factor(times * STRING_TRAVERSAL_FACTOR);
        let pattern = || {
            let text = traversal(size(0).add(SizeEstimate::fixed(1)));
            text.multiply(size(1).factor(REGEX_LENGTH_FACTOR))
        };
        match self {
            Self::Read => cost(read(1.0)),
            Self::Copy => sized(read(1.0), size(0)),
            Self::ReadTwice => cost(read(2.0)),
            Self::Replace => sized(read(2.0), replaced_size(size(0), size(1), size(2))),
            Self::Split => {
                let max = call.literal_int(sizes, 2).map_or(size(0).max, |limit| limit as u64);
                sized(read(2.0), SizeEstimate { min: 0, max })
            }
            Self::Join => {
                let size = joined_size(call, sizes);
                sized(traversal(size), size)
            }
            Self::Affix => cost(traversal(size(1))),
            Self::ToBytes => {
                sized(read(1.0), SizeEstimate { min: size(0).min, max: size(0).max.wrapping_mul(4) })
            }
            Self::FromBytes => sized(read(1.0), SizeEstimate { min: size(0).min / 4, max: size(0).max }),
            Self::Quote => {
                let SizeEstimate { min, max } = size(0);
                let (min, max) = (min.wrapping_add(2), max.wrapping_mul(2).wrapping_add(2));
                sized(read(1.0), SizeEstimate { min, max })
            }
            Self::Contains => cost(read(1.0).multiply(traversal(size(1)))),
            // As in cel-go, only the form with a receiver has a cost.
            Self::Match if !call.overload.is_member => cost(CostEstimate::fixed(1)),
            Self::Match => cost(pattern()),
            Self::Find => sized(pattern(), SizeEstimate { min: 0, max: size(0).max }),
            Self::Validate => cost(traversal(size(1)).factor(MAX_FORMAT_REGEX_SIZE * REGEX_LENGTH_FACTOR)),
        }
    }

    /// The cost when it is evaluated.
    pub(super) fn compute(self, call: Evaluated<'_, '_>) -> u64 {
        let size = |index| call.size(index);
        match self {
            Self::Read | Self::Copy | Self::Affix | Self::ToBytes | Self::FromBytes | Self::Quote => {
                traversed(size(0))
            }
            Self::ReadTwice | Self::Replace | Self::Split => read_twice(size(0)),
            Self::Join => read_twice(call.result_size()),
            Self::Match | Self::Find => {
                let text = traversed(size(0).saturating_add(1));
                text.saturating_mul(ceil_factor(size(1), REGEX_LENGTH_FACTOR))
            }
            Self::Contains => traversed(size(0)).saturating_mul(traversed(size(1))),
            Self::Validate => match call.args.first() {
                Some(Value::Foreign(foreign)) => match foreign.as_ref() {
                    Foreign::Format(format) => traversed(size(1).saturating_add(1))
                        .saturating_mul(ceil_factor(format.regex_size(), REGEX_LENGTH_FACTOR)),
                    _ => 1,
                },
                _ => 1,
            },
        }
    }

    /// Whether the cost depends on the result.
    pub(super) fn depends_on_result(self) -> bool {
        self == Self::Join
    }
}

fn read_twice(length: u64) -> u64 {
    ceil_factor(length, 2.0 * STRING_TRAVERSAL_FACTOR)
}

/// The size of the elements of a list, with the separators between them.
fn joined_size<'e>(call: &Call<'_, 'e>, sizes: &Sizes<'e>) -> SizeEstimate {
    let list = call.size(0);
    let elements = call.element(sizes).map(|element| list.multiply(element.known_size()));
    let elements = elements.unwrap_or_default();
    if call.operands.len() < 2 {
        return elements;
    }
    let count = SizeEstimate { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
    elements.add(call.size(1).multiply(count))
}

/// The longest and the shortest result of a replacement.
fn replaced_size(text: SizeEstimate, from: SizeEstimate, to: SizeEstimate) -> SizeEstimate {
    let mut count = SizeEstimate::default();
    let mut kept = SizeEstimate::default();
    if from.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if to.max <= from.min {
        kept.max = text.max;
    } else {
        count.max = (text.max as f64 / from.min as f64).ceil() as u64;
    }
    if from.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if from.max <= to.min {
        kept.min = text.min;
    } else {
        count.min = (text.min as f64 / from.max as f64).ceil() as u64;
    }
    count.multiply(to).add(kept)
}
