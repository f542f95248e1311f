// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `events/v1`.

use crate::declare::prelude::*;

kinds! {
    Event EventMut {
        action = "action": Text<'v, 'p>, Text<'static, 'static>;
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        deprecated_count = "deprecatedCount": Integer<'v, 'p>, Integer<'static, 'static>;
        deprecated_first_timestamp = "deprecatedFirstTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        deprecated_last_timestamp = "deprecatedLastTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        deprecated_source = "deprecatedSource": crate::core::v1::EventSource<'v, 'p>, crate::core::v1::EventSourceMut<'m>;
        event_time = "eventTime": Time<'v, 'p>, Time<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        note = "note": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        regarding = "regarding": crate::core::v1::ObjectReference<'v, 'p>, crate::core::v1::ObjectReferenceMut<'m>;
        related = "related": crate::core::v1::ObjectReference<'v, 'p>, crate::core::v1::ObjectReferenceMut<'m>;
        reporting_controller = "reportingController": Text<'v, 'p>, Text<'static, 'static>;
        reporting_instance = "reportingInstance": Text<'v, 'p>, Text<'static, 'static>;
        series = "series": EventSeries<'v, 'p>, EventSeriesMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EventSeries EventSeriesMut {
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
        last_observed_time = "lastObservedTime": Time<'v, 'p>, Time<'static, 'static>;
    }
}

