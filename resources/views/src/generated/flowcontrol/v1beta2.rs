// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `flowcontrol/v1beta2`.

use crate::declare::prelude::*;

kinds! {
    PriorityLevelConfiguration PriorityLevelConfigurationMut {
        spec = "spec": PriorityLevelConfigurationSpec<'v, 'p>, PriorityLevelConfigurationSpecMut<'m>;
    }
}

structs! {
    PriorityLevelConfigurationSpec PriorityLevelConfigurationSpecMut {
        limited = "limited": LimitedPriorityLevelConfiguration<'v, 'p>, LimitedPriorityLevelConfigurationMut<'m>;
    }
}

structs! {
    LimitedPriorityLevelConfiguration LimitedPriorityLevelConfigurationMut {
        assured_concurrency_shares = "assuredConcurrencyShares": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

