//! Checks that every field that a schema restricts below `allOf`, `anyOf`, `oneOf` or `not` is also described outside
//! of them. (`apiserver/schema/complete.go`.)

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;

/// Checks the restrictions at the root of a schema.
pub(super) fn check(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    check_values(schema, schema, place, place, findings);
}

/// Checks restrictions against the described field. The places are those of the description and the restriction.
fn check_values(
    restriction: Schema<'_>,
    described: Schema<'_>,
    described_at: &Place,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    if let Some(not) = restriction.child("not") {
        check_nested(not, Some(described), described_at, &place.child("not"), findings);
    }
    for list in ["allOf", "anyOf", "oneOf"] {
        for (index, alternative) in restriction.schemas(list) {
            let place = place.child(list).index(index);
            check_nested(alternative, Some(described), described_at, &place, findings);
        }
    }
}

fn check_nested(
    restriction: Schema<'_>,
    described: Option<Schema<'_>>,
    described_at: &Place,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let Some(described) = described else {
        findings.required_with(described_at, place.bytes(), || {
            format!("because it is defined in {}", place.path())
        });
        return;
    };
    check_values(restriction, described, described_at, place, findings);
    if let Some(item) = restriction.item() {
        let described_at = described_at.child("items");
        check_nested(item, described.item(), &described_at, &place.child("items"), findings);
    }
    for (name, field) in restriction.entries("properties") {
        let described_at = described_at.child("properties").key(name);
        let place = place.child("properties").key(name);
        check_nested(field, described.property(name), &described_at, &place, findings);
    }
}
