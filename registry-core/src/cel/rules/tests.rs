//! Behavior of rules for objects and definitions.
