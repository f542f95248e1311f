//! The resources of `certificates.k8s.io`.

mod certificate;
pub mod certificatesigningrequests;
pub mod clustertrustbundles;
mod pem;
pub mod podcertificaterequests;
pub(crate) mod signers;
