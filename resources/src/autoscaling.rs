//! `autoscaling`: how many replicas there should be.

pub mod horizontalpodautoscalers_v2;
