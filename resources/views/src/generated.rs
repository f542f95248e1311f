// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Views of the types of each group and version.

/// Types of the group `admission`.
pub mod admission {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `admissionregistration`.
pub mod admissionregistration {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `apidiscovery`.
pub mod apidiscovery {
    #[rustfmt::skip]
    pub mod v2;
}

/// Types of the group `apiextensions`.
pub mod apiextensions {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `apiregistration`.
pub mod apiregistration {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `apiserverinternal`.
pub mod apiserverinternal {
    #[rustfmt::skip]
    pub mod v1alpha1;
}

/// Types of the group `apps`.
pub mod apps {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `authentication`.
pub mod authentication {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `authorization`.
pub mod authorization {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `autoscaling`.
pub mod autoscaling {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v2;
}

/// Types of the group `batch`.
pub mod batch {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `certificates`.
pub mod certificates {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha1;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `coordination`.
pub mod coordination {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha2;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `core`.
pub mod core {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `discovery`.
pub mod discovery {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `events`.
pub mod events {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `extensions`.
pub mod extensions {
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `flowcontrol`.
pub mod flowcontrol {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1beta1;
    #[rustfmt::skip]
    pub mod v1beta2;
}

/// Types of the group `imagepolicy`.
pub mod imagepolicy {
    #[rustfmt::skip]
    pub mod v1alpha1;
}

/// Types of the group `meta`.
pub mod meta {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `networking`.
pub mod networking {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `node`.
pub mod node {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha1;
}

/// Types of the group `policy`.
pub mod policy {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `rbac`.
pub mod rbac {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha1;
}

/// Types of the group `resource`.
pub mod resource {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha3;
    #[rustfmt::skip]
    pub mod v1beta1;
    #[rustfmt::skip]
    pub mod v1beta2;
}

/// Types of the group `scheduling`.
pub mod scheduling {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha2;
}

/// Types of the group `storage`.
pub mod storage {
    #[rustfmt::skip]
    pub mod v1;
}

/// Types of the group `storagemigration`.
pub mod storagemigration {
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// Types of the group `version`.
pub mod version {
    #[rustfmt::skip]
    pub mod v1;
}
