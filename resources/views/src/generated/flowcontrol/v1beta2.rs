// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `flowcontrol/v1beta2`.

use crate::declare::prelude::*;

kinds! {
    PriorityLevelConfiguration PriorityLevelConfigurationMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PriorityLevelConfigurationSpec<'v, 'p>, PriorityLevelConfigurationSpecMut<'m>;
        status = "status": PriorityLevelConfigurationStatus<'v, 'p>, PriorityLevelConfigurationStatusMut<'m>;
    }
}

structs! {
    PriorityLevelConfigurationSpec PriorityLevelConfigurationSpecMut {
        exempt = "exempt": ExemptPriorityLevelConfiguration<'v, 'p>, ExemptPriorityLevelConfigurationMut<'m>;
        limited = "limited": LimitedPriorityLevelConfiguration<'v, 'p>, LimitedPriorityLevelConfigurationMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    LimitedPriorityLevelConfiguration LimitedPriorityLevelConfigurationMut {
        assured_concurrency_shares = "assuredConcurrencyShares": Integer<'v, 'p>, Integer<'static, 'static>;
        borrowing_limit_percent = "borrowingLimitPercent": Integer<'v, 'p>, Integer<'static, 'static>;
        lendable_percent = "lendablePercent": Integer<'v, 'p>, Integer<'static, 'static>;
        limit_response = "limitResponse": LimitResponse<'v, 'p>, LimitResponseMut<'m>;
    }
}

structs! {
    LimitResponse LimitResponseMut {
        queuing = "queuing": QueuingConfiguration<'v, 'p>, QueuingConfigurationMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    QueuingConfiguration QueuingConfigurationMut {
        hand_size = "handSize": Integer<'v, 'p>, Integer<'static, 'static>;
        queue_length_limit = "queueLengthLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        queues = "queues": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ExemptPriorityLevelConfiguration ExemptPriorityLevelConfigurationMut {
        lendable_percent = "lendablePercent": Integer<'v, 'p>, Integer<'static, 'static>;
        nominal_concurrency_shares = "nominalConcurrencyShares": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    PriorityLevelConfigurationStatus PriorityLevelConfigurationStatusMut {
        conditions = "conditions": List<PriorityLevelConfigurationCondition<'v, 'p>>, List<PriorityLevelConfigurationConditionMut<'m>>;
    }
}

structs! {
    PriorityLevelConfigurationCondition PriorityLevelConfigurationConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

