//! `autoscaling`: the number of replicas.

pub mod horizontalpodautoscalers_v1;
pub mod horizontalpodautoscalers_v2;
mod round_trip;
