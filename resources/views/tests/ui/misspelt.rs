//! A misspelt field, in a rule and in a default.

use registry_core::api::Object;
use resource_views::coordination::v1::{Lease, LeaseMut};

fn rule(object: &Object) -> bool {
    Lease(object).spec().holder_identitty().exists()
}

fn default(object: &mut Object) {
    LeaseMut(object).spec().or_new().leas_transitions().or(0);
}

fn main() {}
