//! Consistency checks of an annotation. All errors are collected, so that they are reported together.

use std::collections::BTreeSet;

use darling::util::SpannedValue;
use proc_macro2::Span;
use syn::LitStr;
use syn::spanned::Spanned;

use super::{names, span_or};
use crate::attributes::Attributes;
use crate::attributes::path::FieldPath;

/// An optional name, its check, and its error message.
type NameCheck<'a> = (&'a Option<SpannedValue<String>>, fn(&str) -> bool, &'static str);

/// The errors found so far.
#[derive(Debug, Default)]
pub(super) struct Complaints(Option<syn::Error>);

// === impl Complaints ===

impl Complaints {
    pub(super) fn add(&mut self, span: Span, message: impl std::fmt::Display) {
        let error = syn::Error::new(span, message);
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(super) fn into_error(self) -> Option<syn::Error> {
        self.0
    }

    pub(super) fn require(&mut self, holds: bool, span: Span, message: impl std::fmt::Display) {
        if !holds {
            self.add(span, message);
        }
    }

    /// Checks groups, versions, kinds and resource names against Kubernetes' formats.
    pub(super) fn check_names(&mut self, attributes: &Attributes) {
        let here = attributes.ident.span();
        let generics = &attributes.generics;
        self.require(
            generics.params.is_empty(),
            generics.span(),
            "a resource cannot have generic parameters",
        );
        if attributes.group.is_none() && attributes.object.is_none() {
            self.add(here, "missing `group = \"…\"`: the API group this resource is served in, for example `zoo.example.dev`");
        }
        match &attributes.version {
            None => self.add(here, "missing `version = \"…\"`: the API version this resource is served in"),
            Some(version) => self.require(
                names::is_version(version),
                version.span(),
                "not an API version: expected `v1`, `v1beta1` or the like",
            ),
        }
        let checks: [NameCheck<'_>; 5] = [
            (
                &attributes.group,
                names::is_group,
                "not an API group: expected lower-case DNS labels with dots between them",
            ),
            (&attributes.kind, names::is_kind, "not a kind: expected CamelCase letters and digits"),
            (&attributes.plural, names::is_label, "not a resource name: expected a lower-case DNS label"),
            (&attributes.singular, names::is_label, "not a resource name: expected a lower-case DNS label"),
            (
                &attributes.storage_prefix,
                names::is_storage_prefix,
                "not a key prefix: expected segments with `/` between them and none at the ends",
            ),
        ];
        for (value, is_valid, message) in checks {
            if let Some(text) = value {
                self.require(is_valid(text), span_or(Some(text), here), message);
            }
        }
        self.check_labels("short name", &attributes.short.0);
        self.check_labels("category", &attributes.categories.0);
        if attributes.cluster.is_present()
            && let Some(scope) = &attributes.scope
        {
            self.add(scope.span(), "`scope = …` and `cluster` say the same thing: keep one");
        }
    }

    /// Checks that fields, columns and subresources are consistent.
    pub(super) fn check_fields(&mut self, attributes: &Attributes) {
        self.check_own_fields(attributes);
        self.check_virtual(attributes);
        self.check_hub(attributes);
        self.check_retired(attributes);
        self.check_selectable(&attributes.selectable.0, &attributes.index.0);
        self.check_columns(attributes);
        self.check_write_rules(attributes);
        if let Some(seconds) = &attributes.ttl_seconds {
            self.require(seconds.0 > 0, seconds.span(), "a time to live is at least one second");
        }
        let mut seen = BTreeSet::new();
        for subresource in &attributes.subresource {
            let name = path_text(&subresource.storage);
            self.require(
                seen.insert(name.clone()),
                subresource.storage.span(),
                format!("the subresource `{name}` is declared twice"),
            );
            let mut verbs = BTreeSet::new();
            for (verb, span) in &subresource.verbs {
                self.require(verbs.insert(*verb), *span, format!("`{}` is given twice", verb.name()));
            }
        }
    }

    fn check_labels(&mut self, what: &str, labels: &[LitStr]) {
        let mut seen = BTreeSet::new();
        for label in labels {
            let text = label.value();
            self.require(
                names::is_label(&text),
                label.span(),
                format!("not a {what}: expected a lower-case DNS label"),
            );
            self.require(seen.insert(text), label.span(), format!("the {what} is given twice"));
        }
    }

    /// Checks a virtual resource, which is not stored.
    fn check_virtual(&mut self, attributes: &Attributes) {
        let Some(storage) = &attributes.storage else { return };
        if attributes.status.is_present() || super::status_field(attributes) {
            self.add(
                storage.span(),
                "nothing of a virtual resource is stored, so it has no `status` subresource: leave out `status`, or \
                 `storage = …`",
            );
        }
        if attributes.scale.is_some() {
            self.add(
                storage.span(),
                "nothing of a virtual resource is stored, so it cannot be scaled: leave out `scale(…)`",
            );
        }
    }

    /// Checks what a spoke must leave to its hub, and what only spokes can declare.
    fn check_hub(&mut self, attributes: &Attributes) {
        if attributes.hub.is_none() {
            for field in attributes.selectable.0.iter().filter_map(FieldPath::hub) {
                self.add(field.span(), "`=>` says where the field is in the hub: there is no `hub = …`");
            }
            let same_fields = attributes.same_fields.is_present().then(|| attributes.same_fields.span());
            let strategy = attributes.strategy.as_ref().filter(|strategy| strategy.is_ident("hub"));
            for span in same_fields.into_iter().chain(strategy.map(Spanned::span)) {
                self.add(span, "this is what the stored version has: there is no `hub = …`");
            }
            return;
        }
        let here = attributes.ident.span();
        if let Some(hub) = &attributes.hub
            && (hub.is_ident("Self") || hub.is_ident(&attributes.ident))
        {
            self.add(hub.span(), "a version cannot be its own hub: `hub = …` names the version that is stored; leave it out here");
        }
        if let Some(prefix) = &attributes.storage_prefix {
            self.add(prefix.span(), "a spoke is stored where its hub is: leave this out");
        }
        if let Some(seconds) = &attributes.ttl_seconds {
            self.add(seconds.span(), "a spoke lives as long as its hub says: leave this out");
        }
        for index in &attributes.index.0 {
            self.add(index.span(), "a spoke is looked up by its hub's indexes: leave this out");
        }
        if attributes.storage.is_some() {
            self.add(here, "`storage = …` is for what is not stored, and a spoke is stored as its hub");
        }
    }

    /// Checks the versions in which objects may be stored although they are not served any more.
    fn check_retired(&mut self, attributes: &Attributes) {
        let text = |value: &Option<SpannedValue<String>>| value.as_ref().map(|text| text.to_string());
        let own =
            (text(&attributes.group).unwrap_or_default(), text(&attributes.version).unwrap_or_default());
        let mut seen = BTreeSet::new();
        for retired in &attributes.retired.0 {
            let api_version = retired.api_version.value();
            let span = retired.api_version.span();
            let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
            let is_version = names::is_version(version) && (group.is_empty() || names::is_group(group));
            self.require(
                is_version,
                span,
                "not an `apiVersion`: expected `example.dev/v1alpha1` or the like",
            );
            self.require((group, version) != (&*own.0, &*own.1), span, "this is the version that is served");
            self.require(attributes.storage.is_none(), span, "nothing of a virtual resource is stored");
            self.require(seen.insert(api_version), span, "this version is given twice");
        }
    }

    fn check_selectable(&mut self, selectable: &[FieldPath], indexes: &[FieldPath]) {
        let mut names_seen = BTreeSet::new();
        for field in selectable {
            let name = field.name();
            self.require(
                !matches!(name.as_str(), "metadata.name" | "metadata.namespace"),
                field.span(),
                format!("every resource can be selected by `{name}`: leave it out"),
            );
            self.require(
                names_seen.insert(name.clone()),
                field.span(),
                format!("two selectable fields are named `{name}`"),
            );
        }
        let mut seen = BTreeSet::new();
        for index in indexes {
            let name = index.rust_name();
            let known: Vec<String> = selectable.iter().map(FieldPath::rust_name).collect();
            if !known.contains(&name) {
                let message = match names::nearest(&name, known.iter().map(String::as_str)) {
                    Some(near) => format!("`{name}` is not selectable: did you mean `{near}`?"),
                    None => format!("only selectable fields can be indexed: add `{name}` to `selectable(…)`"),
                };
                self.add(index.span(), message);
            }
            self.require(seen.insert(name.clone()), index.span(), format!("`{name}` is indexed twice"));
            self.require(index.other().is_none(), index.span(), OR_IS_FOR_SELECTORS);
        }
    }

    /// Checks the rules of writes that are constants.
    fn check_write_rules(&mut self, attributes: &Attributes) {
        let rules = [
            attributes.names.as_ref().map(Spanned::span),
            attributes.unconditional_update.as_ref().map(SpannedValue::span),
            attributes.create_on_update.is_present().then(|| attributes.create_on_update.span()),
            attributes.plain_finalizers.is_present().then(|| attributes.plain_finalizers.span()),
            attributes.metadata_errors_once.is_present().then(|| attributes.metadata_errors_once.span()),
        ];
        let paths = || attributes.reset.0.iter().chain(&attributes.reset_by_status.0);
        if attributes.hub.is_some() {
            for span in rules.into_iter().flatten().chain(paths().map(FieldPath::span)) {
                self.add(span, "a spoke is written by the rules of its hub: leave this out");
            }
            return;
        }
        if let Some(allowed) = &attributes.unconditional_update {
            let needless =
                "updates need no resource version unless `unconditional_update = false`: leave this out";
            self.require(!**allowed, allowed.span(), needless);
        }
        if attributes.object.is_none() {
            for flag in [&attributes.plain_finalizers, &attributes.metadata_errors_once] {
                let needless = "this is so for every kind that is not a type of Kubernetes: leave it out";
                self.require(!flag.is_present(), flag.span(), needless);
            }
        }
        let mut seen = BTreeSet::new();
        for path in &attributes.reset_by_status.0 {
            let name = path.rust_name();
            self.require(seen.insert(name.clone()), path.span(), format!("`{name}` is given twice"));
        }
        for path in paths() {
            self.require(path.other().is_none(), path.span(), OR_IS_FOR_SELECTORS);
        }
    }

    fn check_columns(&mut self, attributes: &Attributes) {
        if let (Some(slice), false) = (&attributes.columns, attributes.column.is_empty()) {
            self.add(slice.span(), "`columns = …` gives the whole table: leave out `column(…)`");
        }
        let mut headings: BTreeSet<String> = ["Name".to_owned(), "Age".to_owned()].into();
        for column in &attributes.column {
            let heading = column.heading.value();
            self.require(column.path.other().is_none(), column.path.span(), OR_IS_FOR_SELECTORS);
            self.require(!heading.is_empty(), column.heading.span(), "a column needs a heading");
            self.require(
                headings.insert(heading.clone()),
                column.heading.span(),
                format!("there is a column `{heading}` already (`Name` and `Age` come by themselves)"),
            );
        }
    }
}

/// Selectors need a single value; a column shows an existing one.
const OR_IS_FOR_SELECTORS: &str = "`or` belongs into `selectable(…)`";

fn path_text(path: &syn::Path) -> String {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::")
}
