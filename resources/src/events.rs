//! `events.k8s.io`: events as controllers report them today.

pub mod events_v1;
