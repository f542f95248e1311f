//! The rules of writes of a kind that are constants.

use crate::api::validation::names::NameRule;

/// The rules of writes of a kind that are constants, as its declaration gives them.
#[derive(Clone, Copy, Debug)]
pub struct WriteRules {
    /// The format of `metadata.name`.
    pub names: NameRule,
    /// Whether updates without a resource version are allowed. (`AllowUnconditionalUpdate`.)
    pub unconditional_update: bool,
    /// Whether an update of an absent object creates it. (`AllowCreateOnUpdate`.)
    pub create_on_update: bool,
    /// Whether finalizers must be qualified by a domain (`example.com/name`) or be Kubernetes' own.
    pub qualified_finalizers: bool,
    /// Whether metadata errors of a change are reported twice: most kinds of Kubernetes validate the metadata a second
    /// time.
    pub repeated_metadata_errors: bool,
    /// The paths of the fields that the main resource resets, in addition to the status; they have no manager.
    pub reset: &'static [&'static [&'static str]],
    /// The paths of the fields that the `status` subresource resets, in addition to everything but metadata and status. The
    /// store restores those of the metadata.
    pub reset_by_status: &'static [&'static [&'static str]],
}

// === impl WriteRules ===

impl WriteRules {
    /// The rules of kinds that are no types of Kubernetes.
    pub const OWN: Self = Self {
        names: NameRule::DnsSubdomain,
        unconditional_update: true,
        create_on_update: false,
        qualified_finalizers: false,
        repeated_metadata_errors: false,
        reset: &[],
        reset_by_status: &[],
    };

    /// The usual rules of Kubernetes' kinds.
    pub const KUBERNETES: Self =
        Self { qualified_finalizers: true, repeated_metadata_errors: true, ..Self::OWN };
}
