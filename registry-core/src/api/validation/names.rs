//! What names, labels and such may look like (RFC 1123, RFC 1035, qualified names).
//!
//! Each check returns the complaints in Kubernetes' words; none means valid.
