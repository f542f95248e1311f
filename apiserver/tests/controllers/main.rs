//! The controllers that run in the server: namespaces end, objects without owners are collected, and namespaces have what pods
//! need.

mod defaults;
mod garbage;
mod handover;
mod hostile;
mod jobs;
mod namespaces;
mod quotas;
mod world;
