//! Structs with all fields of another, for rules that both have.

use crate::core::v1::{
    Container, ContainerMut, EphemeralContainer, EphemeralContainerMut, PodAffinity, PodAntiAffinity,
    TypedLocalObjectReference, TypedObjectReference,
};
use crate::view::Typed as _;

impl<'v, 'p> From<EphemeralContainer<'v, 'p>> for Container<'v, 'p> {
    fn from(container: EphemeralContainer<'v, 'p>) -> Self {
        Self::typed(*container)
    }
}

impl<'m> From<EphemeralContainerMut<'m>> for ContainerMut<'m> {
    fn from(container: EphemeralContainerMut<'m>) -> Self {
        Self(container.0)
    }
}

impl<'v, 'p> From<PodAntiAffinity<'v, 'p>> for PodAffinity<'v, 'p> {
    fn from(affinity: PodAntiAffinity<'v, 'p>) -> Self {
        Self::typed(*affinity)
    }
}

impl<'v, 'p> From<TypedObjectReference<'v, 'p>> for TypedLocalObjectReference<'v, 'p> {
    fn from(reference: TypedObjectReference<'v, 'p>) -> Self {
        Self::typed(*reference)
    }
}
