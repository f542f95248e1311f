//! The API group `zoo.example.dev`.

pub mod enclosure;
pub mod enclosure_v1beta1;
