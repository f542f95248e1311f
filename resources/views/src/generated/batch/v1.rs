// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `batch/v1`.

use crate::declare::prelude::*;

kinds! {
    CronJob CronJobMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": CronJobSpec<'v, 'p>, CronJobSpecMut<'m>;
        status = "status": CronJobStatus<'v, 'p>, CronJobStatusMut<'m>;
    }
}

structs! {
    CronJobSpec CronJobSpecMut {
        concurrency_policy = "concurrencyPolicy": Text<'v, 'p>, Text<'static, 'static>;
        failed_jobs_history_limit = "failedJobsHistoryLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        job_template = "jobTemplate": JobTemplateSpec<'v, 'p>, JobTemplateSpecMut<'m>;
        schedule = "schedule": Text<'v, 'p>, Text<'static, 'static>;
        starting_deadline_seconds = "startingDeadlineSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        successful_jobs_history_limit = "successfulJobsHistoryLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        suspend = "suspend": Boolean<'v, 'p>, Boolean<'static, 'static>;
        time_zone = "timeZone": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    JobTemplateSpec JobTemplateSpecMut {
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": JobSpec<'v, 'p>, JobSpecMut<'m>;
    }
}

structs! {
    JobSpec JobSpecMut {
        active_deadline_seconds = "activeDeadlineSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        backoff_limit = "backoffLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        backoff_limit_per_index = "backoffLimitPerIndex": Integer<'v, 'p>, Integer<'static, 'static>;
        completion_mode = "completionMode": Text<'v, 'p>, Text<'static, 'static>;
        completions = "completions": Integer<'v, 'p>, Integer<'static, 'static>;
        managed_by = "managedBy": Text<'v, 'p>, Text<'static, 'static>;
        manual_selector = "manualSelector": Boolean<'v, 'p>, Boolean<'static, 'static>;
        max_failed_indexes = "maxFailedIndexes": Integer<'v, 'p>, Integer<'static, 'static>;
        parallelism = "parallelism": Integer<'v, 'p>, Integer<'static, 'static>;
        pod_failure_policy = "podFailurePolicy": PodFailurePolicy<'v, 'p>, PodFailurePolicyMut<'m>;
        pod_replacement_policy = "podReplacementPolicy": Text<'v, 'p>, Text<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        success_policy = "successPolicy": SuccessPolicy<'v, 'p>, SuccessPolicyMut<'m>;
        suspend = "suspend": Boolean<'v, 'p>, Boolean<'static, 'static>;
        template = "template": crate::core::v1::PodTemplateSpec<'v, 'p>, crate::core::v1::PodTemplateSpecMut<'m>;
        ttl_seconds_after_finished = "ttlSecondsAfterFinished": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    PodFailurePolicy PodFailurePolicyMut {
        rules = "rules": List<PodFailurePolicyRule<'v, 'p>>, List<PodFailurePolicyRuleMut<'m>>;
    }
}

structs! {
    PodFailurePolicyRule PodFailurePolicyRuleMut {
        action = "action": Text<'v, 'p>, Text<'static, 'static>;
        on_exit_codes = "onExitCodes": PodFailurePolicyOnExitCodesRequirement<'v, 'p>, PodFailurePolicyOnExitCodesRequirementMut<'m>;
        on_pod_conditions = "onPodConditions": List<PodFailurePolicyOnPodConditionsPattern<'v, 'p>>, List<PodFailurePolicyOnPodConditionsPatternMut<'m>>;
    }
}

structs! {
    PodFailurePolicyOnExitCodesRequirement PodFailurePolicyOnExitCodesRequirementMut {
        container_name = "containerName": Text<'v, 'p>, Text<'static, 'static>;
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Integer<'v, 'p>>, List<Integer<'static, 'static>>;
    }
}

structs! {
    PodFailurePolicyOnPodConditionsPattern PodFailurePolicyOnPodConditionsPatternMut {
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SuccessPolicy SuccessPolicyMut {
        rules = "rules": List<SuccessPolicyRule<'v, 'p>>, List<SuccessPolicyRuleMut<'m>>;
    }
}

structs! {
    SuccessPolicyRule SuccessPolicyRuleMut {
        succeeded_count = "succeededCount": Integer<'v, 'p>, Integer<'static, 'static>;
        succeeded_indexes = "succeededIndexes": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CronJobStatus CronJobStatusMut {
        active = "active": List<crate::core::v1::ObjectReference<'v, 'p>>, List<crate::core::v1::ObjectReferenceMut<'m>>;
        last_schedule_time = "lastScheduleTime": Time<'v, 'p>, Time<'static, 'static>;
        last_successful_time = "lastSuccessfulTime": Time<'v, 'p>, Time<'static, 'static>;
    }
}

kinds! {
    Job JobMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": JobSpec<'v, 'p>, JobSpecMut<'m>;
        status = "status": JobStatus<'v, 'p>, JobStatusMut<'m>;
    }
}

structs! {
    JobStatus JobStatusMut {
        active = "active": Integer<'v, 'p>, Integer<'static, 'static>;
        completed_indexes = "completedIndexes": Text<'v, 'p>, Text<'static, 'static>;
        completion_time = "completionTime": Time<'v, 'p>, Time<'static, 'static>;
        conditions = "conditions": List<JobCondition<'v, 'p>>, List<JobConditionMut<'m>>;
        failed = "failed": Integer<'v, 'p>, Integer<'static, 'static>;
        failed_indexes = "failedIndexes": Text<'v, 'p>, Text<'static, 'static>;
        ready = "ready": Integer<'v, 'p>, Integer<'static, 'static>;
        start_time = "startTime": Time<'v, 'p>, Time<'static, 'static>;
        succeeded = "succeeded": Integer<'v, 'p>, Integer<'static, 'static>;
        terminating = "terminating": Integer<'v, 'p>, Integer<'static, 'static>;
        uncounted_terminated_pods = "uncountedTerminatedPods": UncountedTerminatedPods<'v, 'p>, UncountedTerminatedPodsMut<'m>;
    }
}

structs! {
    JobCondition JobConditionMut {
        last_probe_time = "lastProbeTime": Time<'v, 'p>, Time<'static, 'static>;
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    UncountedTerminatedPods UncountedTerminatedPodsMut {
        failed = "failed": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        succeeded = "succeeded": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

