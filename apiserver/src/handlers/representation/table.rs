//! `Table`: the output of `kubectl get`, from a resource's columns.
//!
//! Kubernetes concept:
//! [tables](https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use jiff::Timestamp;
use registry_core::api::go_text;
use registry_core::api::{Object, StatusError};
use registry_core::codec::json::Parts;
use registry_core::resource::{
    Column, ColumnType, RowCondition, RowConditionType, TableCell, TableColumn, TableColumns,
};
use registry_core::schema::Schema;
use registry_core::storage::{Encoding, EncodingBudget};
use request_info::Query;
use responses::negotiation::MetaVersion;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::call::Call;
use super::item::Item;
use super::partial::Partial;

mod row;

use row::RowBuilder;

/// The columns of a resource that declares none.
static DEFAULT_COLUMNS: LazyLock<TableColumns> =
    LazyLock::new(|| TableColumns::declared(&[Column::NAME, Column::CREATED_AT]));

/// Maximum length of a row's cells, in bytes, if the columns are many. Custom resources may have very many columns, each of
/// which shows a whole object: the cells after the limit are null.
const MAX_CELLS_BYTES: usize = 4 << 20;

/// A table of one resource's objects.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: TableColumns,
    row_conditions: Option<fn(&Object) -> &'static [RowCondition]>,
    schema: Schema,
    include: IncludeObject,
    form: Partial,
    budget: Arc<EncodingBudget>,
}

/// The part of each object that its row contains (`includeObject`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IncludeObject {
    None,
    Metadata,
    Object,
}

/// Kubernetes' `TableColumnDefinition`.
#[derive(Serialize)]
struct ColumnDefinition<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    format: &'a str,
    description: &'a str,
    priority: i32,
}

/// Kubernetes' `TableRowCondition`; its status is always true.
#[derive(Serialize)]
struct TableRowCondition<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    reason: &'a str,
    message: &'a str,
}

// === impl Table ===

impl Table {
    /// Returns the table that a request asks for.
    ///
    /// # Errors
    /// 400 for an invalid `includeObject`.
    pub(crate) fn from_request(call: &Call<'_>, version: MetaVersion) -> Result<Self, StatusError> {
        let storage = &call.route.path.capabilities.storage;
        let budget = call.api.config.encodings.clone();
        let table = Self::new(storage.columns(), storage.schema(), call.query, version, budget)?;
        // A resource's row conditions apply to its own kind only: a scale is never completed.
        let resource = &call.route.path.resource;
        let row_conditions = resource.row_conditions.filter(|_| call.route.kind == resource.kind);
        Ok(Self { row_conditions, form: Partial::for_resource(resource, version), ..table })
    }

    fn new(
        columns: TableColumns,
        schema: Schema,
        query: Query<'_>,
        version: MetaVersion,
        budget: Arc<EncodingBudget>,
    ) -> Result<Self, StatusError> {
        let columns = if columns.is_empty() { DEFAULT_COLUMNS.clone() } else { columns };
        let include = match &*query.text("includeObject") {
            "" | "Metadata" => IncludeObject::Metadata,
            "Object" => IncludeObject::Object,
            "None" => IncludeObject::None,
            other => {
                return Err(StatusError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: \
                     must be 'Metadata', 'Object', 'None', or empty",
                    go_text::quote(other)
                )));
            }
        };
        Ok(Self { columns, row_conditions: None, schema, include, form: version.into(), budget })
    }

    /// Returns the version of `meta.k8s.io`.
    pub(crate) fn version(&self) -> MetaVersion {
        self.form.version
    }

    /// Returns the table with at least the metadata of each object.
    pub(crate) fn with_metadata(self) -> Self {
        let include = match self.include {
            IncludeObject::None => IncludeObject::Metadata,
            more => more,
        };
        Self { include, ..self }
    }

    /// Returns the table without its rows.
    pub(crate) fn head(&self, metadata: &Value) -> Value {
        json!({
            "kind": "Table",
            "apiVersion": self.form.version.api_version(),
            "metadata": metadata,
            "columnDefinitions": self.definitions(),
        })
    }

    /// Writes the table up to its first row, with the given JSON as metadata. Watches send the column definitions with
    /// their first table only.
    pub(crate) fn write_head(&self, buffer: &mut Vec<u8>, metadata: &str, with_columns: bool) {
        let definitions = if with_columns { json_text(&self.definitions()) } else { "null".to_owned() };
        let head = format!(
            "{{\"kind\":\"Table\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"columnDefinitions\":{definitions},\"rows\":[",
            self.form.version.api_version()
        );
        buffer.extend_from_slice(head.as_bytes());
    }

    fn definitions(&self) -> Vec<ColumnDefinition<'_>> {
        let paths = self.columns.iter().map(|column| column.documented_by);
        let texts = resources::schema::field_descriptions(&self.schema, paths);
        let defined = self.columns.iter().zip(texts).filter(|(column, _)| !column.name.is_empty());
        defined.map(|(column, text)| ColumnDefinition::new(column, text)).collect()
    }

    /// Writes a whole table of one object.
    ///
    /// # Errors
    /// 500 if its bytes are not an object.
    pub(crate) fn write_object(
        &self,
        buffer: &mut Vec<u8>,
        item: &Item<'_>,
        with_columns: bool,
    ) -> Result<(), StatusError> {
        let metadata = match item.revision {
            Some(revision) => json!({ "resourceVersion": revision.to_string() }),
            None => match item.object()?.resource_version() {
                "" => json!({}),
                version => json!({ "resourceVersion": version }),
            },
        };
        self.write_head(buffer, &metadata.to_string(), with_columns);
        self.write_row(buffer, item)?;
        buffer.extend_from_slice(b"]}");
        Ok(())
    }

    /// Writes an object's row.
    ///
    /// # Errors
    /// 500 if its bytes are not an object.
    pub(crate) fn write_row(&self, buffer: &mut Vec<u8>, item: &Item<'_>) -> Result<(), StatusError> {
        let encoding =
            Encoding::TableRow { columns: self.columns.id(), has_conditions: self.row_conditions.is_some() };
        let row = item.in_encoding(encoding, &self.budget, || Ok(self.row(&item.parts(self.parts())?)))?;
        row::write(buffer, &row, Timestamp::now());
        buffer.extend_from_slice(b",\"object\":");
        match self.include {
            IncludeObject::None => buffer.extend_from_slice(b"null"),
            IncludeObject::Metadata => self.form.write(buffer, item)?,
            IncludeObject::Object => buffer.extend_from_slice(item.json),
        }
        buffer.push(b'}');
        Ok(())
    }

    /// Returns the parts of objects that the cells can show: the managers of its fields, a third of an object, only if
    /// its author chose the paths.
    fn parts(&self) -> Parts {
        let is_chosen = self.columns.iter().any(|column| matches!(column.cell, TableCell::Computed(_)));
        if is_chosen { Parts::Except(&[]) } else { Parts::Except(&[&["metadata", "managedFields"]]) }
    }

    /// Returns the cells and the conditions of an object's row, which all tables with these columns share.
    fn row(&self, object: &Object) -> Bytes {
        let mut row = RowBuilder::default();
        row.text(b"{\"cells\":[");
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                row.text(b",");
            }
            if row.len() < MAX_CELLS_BYTES {
                row.cell(column.cell.value(object));
            } else {
                row.text(b"null");
            }
        }
        row.text(b"]");
        let conditions = self.row_conditions.map(|of| of(object)).unwrap_or_default();
        if !conditions.is_empty() {
            let conditions: Vec<TableRowCondition<'_>> =
                conditions.iter().map(TableRowCondition::from).collect();
            row.text(b",\"conditions\":");
            row.text(json_text(&conditions).as_bytes());
        }
        row.finish()
    }
}

/// Returns a value as JSON, with its fields in the order of the struct.
fn json_text(value: &impl Serialize) -> String {
    // Cannot fail: the keys are strings, and all values have a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}

// === impl ColumnDefinition ===

impl<'a> ColumnDefinition<'a> {
    /// Returns a column's definition; `text` is the schema's description, used when the column has none.
    fn new(column: &'a TableColumn, text: &'a str) -> Self {
        Self {
            name: &column.name,
            kind: match column.kind {
                ColumnType::String => "string",
                ColumnType::Integer => "integer",
                ColumnType::Number => "number",
                ColumnType::Boolean => "boolean",
                ColumnType::Date => "date",
            },
            format: &column.format,
            description: if column.description.is_empty() { text } else { &column.description },
            priority: column.priority,
        }
    }
}

// === impl TableRowCondition ===

impl<'a> From<&'a RowCondition> for TableRowCondition<'a> {
    fn from(condition: &'a RowCondition) -> Self {
        let kind = match condition.kind {
            RowConditionType::Completed => "Completed",
        };
        Self { kind, status: "True", reason: condition.reason, message: condition.message }
    }
}

#[cfg(test)]
mod tests;
