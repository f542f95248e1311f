//! The small resource that the suites use: plain JSON objects with labels and one selectable field.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::entry::{Attributes, AttributesOf, Entry, InvalidValue, StoredObject};
use crate::interface::{NewValue, TryUpdate, UpdateAction};
use crate::predicate::Predicate;
use registry_meta::StatusError;
use registry_meta::selector::{
    FieldRequirement, FieldSelector, LabelOperator, LabelRequirement, LabelSelector,
};

/// A widget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Widget {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `spec.color`: selectable.
    pub color: String,
    /// `spec.count`.
    pub count: u64,
    /// `spec.text`: arbitrary text.
    pub text: String,
}

/// The attributes of widgets.
#[derive(Clone, Copy, Debug, Default)]
pub struct WidgetAttributes;

const FIELDS: &[&str] = &["metadata.name", "spec.color"];

// === impl Widget ===

impl Widget {
    /// Creates a widget with a name (and a uid derived from it).
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), uid: format!("uid-of-{name}"), ..Self::default() }
    }

    /// Sets a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Sets the color.
    pub fn color(mut self, color: &str) -> Self {
        color.clone_into(&mut self.color);
        self
    }

    /// Sets the count.
    pub fn count(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// Sets the text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Returns the value to be stored, in the canonical encoding.
    pub fn value(&self) -> NewValue {
        let mut metadata = json!({"name": self.name, "uid": self.uid});
        if !self.labels.is_empty() {
            metadata["labels"] = json!(self.labels);
        }
        let spec = json!({"color": self.color, "count": self.count, "text": self.text});
        let text = format!(
            r#"{{"apiVersion":"testing.orlop.dev/v1","kind":"Widget","metadata":{metadata},"spec":{spec}}}"#
        );
        let bytes = Bytes::from(text);
        let attributes = WidgetAttributes.attributes_of(&bytes).expect("a widget has attributes");
        NewValue { bytes, shown: None, attributes }
    }

    /// Decodes an entry, and checks that it contains its own revision.
    pub fn decode(entry: &Entry) -> Self {
        let value: Value = serde_json::from_slice(entry.json()).expect("an entry is JSON");
        assert_eq!(
            value["metadata"]["resourceVersion"],
            entry.revision.to_string(),
            "the resource version in the bytes of {} is the entry's",
            entry.key
        );
        assert!(entry.tail().starts_with(b"\"metadata\""), "the item of {} begins after its type", entry.key);
        Self::read(&value)
    }

    /// Returns the update that writes this widget.
    pub fn write(&self) -> UpdateAction {
        UpdateAction::Write { value: self.value(), ttl: None }
    }

    fn read(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = value["metadata"]["labels"].as_object().into_iter().flatten();
        Self {
            name: text(&value["metadata"]["name"]),
            uid: text(&value["metadata"]["uid"]),
            labels: labels.map(|(key, value)| (key.clone(), text(value))).collect(),
            color: text(&value["spec"]["color"]),
            count: value["spec"]["count"].as_u64().unwrap_or_default(),
            text: text(&value["spec"]["text"]),
        }
    }
}

// === impl WidgetAttributes ===

impl AttributesOf for WidgetAttributes {
    fn attributes_of(&self, value: &[u8]) -> Result<Attributes, InvalidValue> {
        let value: Value = serde_json::from_slice(value).map_err(InvalidValue::new)?;
        if value["kind"] != "Widget" {
            return Err(InvalidValue::new("it is not a Widget"));
        }
        let widget = Widget::read(&value);
        Ok(Attributes::new(widget.labels.iter().collect(), [&widget.name, &widget.color], FIELDS))
    }
}

// === selectors and updates ===

/// Selects widgets with this label.
pub(super) fn with_label(key: &str, value: &str) -> Predicate {
    let operator = LabelOperator::In(vec![value.to_owned()]);
    let requirement = LabelRequirement { key: key.to_owned(), operator };
    Predicate { labels: LabelSelector { requirements: vec![requirement] }, ..Predicate::default() }
}

/// Selects widgets of this color.
pub(super) fn with_color(color: &str) -> Predicate {
    let requirement =
        FieldRequirement { path: "spec.color".to_owned(), value: color.to_owned(), equal: true };
    Predicate { fields: FieldSelector { requirements: vec![requirement] }, ..Predicate::default() }
}

/// An update by a closure over widgets, which also counts its calls.
pub(super) struct Update<F> {
    decide: F,
    pub(super) calls: usize,
    pub(super) accepts_absent: bool,
}

impl<F> Update<F>
where
    F: FnMut(Option<Widget>) -> Result<UpdateAction, StatusError> + Send,
{
    pub(super) fn new(decide: F) -> Self {
        Self { decide, calls: 0, accepts_absent: false }
    }

    pub(super) fn or_create(decide: F) -> Self {
        Self { decide, calls: 0, accepts_absent: true }
    }
}

#[async_trait::async_trait]
impl<F> TryUpdate for Update<F>
where
    F: FnMut(Option<Widget>) -> Result<UpdateAction, StatusError> + Send,
{
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        self.calls += 1;
        (self.decide)(current.map(|object| Widget::decode(object)))
    }

    fn accepts_absent(&self) -> bool {
        self.accepts_absent
    }
}

/// Returns an update that increments the count.
pub(super) fn increment() -> Update<impl FnMut(Option<Widget>) -> Result<UpdateAction, StatusError> + Send> {
    Update::new(|widget: Option<Widget>| {
        let widget = widget.expect("an absent object is not updated");
        let count = widget.count + 1;
        Ok(widget.count(count).write())
    })
}
