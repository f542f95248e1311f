//! `autoscaling`: how many replicas there should be.

pub mod horizontalpodautoscalers_v1;
pub mod horizontalpodautoscalers_v2;
mod round_trip;
