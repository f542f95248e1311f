// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apps/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    Deployment DeploymentMut {
        spec = "spec": DeploymentSpec<'v, 'p>, DeploymentSpecMut<'m>;
    }
}

structs! {
    DeploymentSpec DeploymentSpecMut {
        rollback_to = "rollbackTo": RollbackConfig<'v, 'p>, RollbackConfigMut<'m>;
    }
}

structs! {
    RollbackConfig RollbackConfigMut {
        revision = "revision": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

