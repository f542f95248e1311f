//! Label selectors: `app=web,tier in (front,back),!canary`.

use super::SelectorError;

/// All requirements must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// What must hold of an object's labels.
    pub requirements: Vec<LabelRequirement>,
}

/// One requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    /// The label's key.
    pub key: String,
    /// What must hold of its value.
    pub operator: LabelOperator,
}

/// What must hold of one label's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelOperator {
    /// Present, with one of these values.
    In(Vec<String>),
    /// Absent, or with none of these values.
    NotIn(Vec<String>),
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
    /// Present, and a whole number greater than this.
    GreaterThan(i64),
    /// Present, and a whole number less than this.
    LessThan(i64),
}

impl LabelSelector {
    /// Parses the query-parameter form.
    pub fn parse(_text: &str) -> Result<Self, SelectorError> {
        todo!("api helper")
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels, given by a look-up, satisfy all requirements.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|one| {
            let value = label(&one.key);
            let number = value.and_then(|text| text.parse::<i64>().ok());
            match &one.operator {
                LabelOperator::In(values) => value.is_some_and(|own| values.iter().any(|v| v == own)),
                LabelOperator::NotIn(values) => !value.is_some_and(|own| values.iter().any(|v| v == own)),
                LabelOperator::Exists => value.is_some(),
                LabelOperator::DoesNotExist => value.is_none(),
                LabelOperator::GreaterThan(bound) => number.is_some_and(|own| own > *bound),
                LabelOperator::LessThan(bound) => number.is_some_and(|own| own < *bound),
            }
        })
    }
}
