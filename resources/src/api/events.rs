//! `events.k8s.io`: the newer version of events.

pub mod events_v1;
