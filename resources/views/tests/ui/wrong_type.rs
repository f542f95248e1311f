//! Text from a number, a number from text, and a default of another type.

use registry_core::api::Object;
use resource_views::coordination::v1::{Lease, LeaseMut};

fn text(object: &Object) -> String {
    Lease(object).spec().lease_transitions().text().to_owned()
}

fn number(object: &Object) -> Option<i64> {
    Lease(object).spec().holder_identity().integer()
}

fn default(object: &mut Object) {
    LeaseMut(object).spec().or_new().lease_transitions().or("0");
}

fn main() {}
