//! Objects that are made when they are missing, and are the operator's from then on.

use async_trait::async_trait;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;

use super::{PostStartHook, wanted};
use crate::core::namespaces::Namespaces;
use crate::keeper::Keeper;
use crate::scheduling::priorityclasses::PriorityClasses;

/// Makes objects of one resource.
pub(super) struct MakeMissing {
    name: &'static str,
    keeper: Keeper,
    wanted: fn() -> Vec<Object>,
}

/// The namespaces every cluster has.
pub(super) fn namespaces(installed: &InstalledApi) -> Option<MakeMissing> {
    let name = "start-system-namespaces-controller";
    Some(MakeMissing {
        name,
        keeper: Keeper::of::<Namespaces>(installed)?,
        wanted: wanted::objects::<Namespaces>,
    })
}

/// The classes of the pods a cluster cannot do without.
pub(super) fn priority_classes(installed: &InstalledApi) -> Option<MakeMissing> {
    let name = "scheduling/bootstrap-system-priority-classes";
    let keeper = Keeper::of::<PriorityClasses>(installed)?;
    Some(MakeMissing { name, keeper, wanted: wanted::objects::<PriorityClasses> })
}

#[async_trait]
impl PostStartHook for MakeMissing {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn run(&self) -> Result<(), StatusError> {
        self.keeper.ensure((self.wanted)(), |_, _| None).await
    }
}
