// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `meta/v1`.

use crate::declare::prelude::*;

structs! {
    LabelSelector LabelSelectorMut {
        match_expressions = "matchExpressions": List<LabelSelectorRequirement<'v, 'p>>, List<LabelSelectorRequirementMut<'m>>;
        match_labels = "matchLabels": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

structs! {
    LabelSelectorRequirement LabelSelectorRequirementMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    ObjectMeta ObjectMetaMut {
        annotations = "annotations": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        creation_timestamp = "creationTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        deletion_grace_period_seconds = "deletionGracePeriodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        deletion_timestamp = "deletionTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        finalizers = "finalizers": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        generate_name = "generateName": Text<'v, 'p>, Text<'static, 'static>;
        generation = "generation": Integer<'v, 'p>, Integer<'static, 'static>;
        labels = "labels": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        managed_fields = "managedFields": List<ManagedFieldsEntry<'v, 'p>>, List<ManagedFieldsEntryMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        owner_references = "ownerReferences": List<OwnerReference<'v, 'p>>, List<OwnerReferenceMut<'m>>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
        self_link = "selfLink": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    OwnerReference OwnerReferenceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        block_owner_deletion = "blockOwnerDeletion": Boolean<'v, 'p>, Boolean<'static, 'static>;
        controller = "controller": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ManagedFieldsEntry ManagedFieldsEntryMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        fields_type = "fieldsType": Text<'v, 'p>, Text<'static, 'static>;
        fields_v1 = "fieldsV1": Raw<'v, 'p>, Raw<'static, 'static>;
        manager = "manager": Text<'v, 'p>, Text<'static, 'static>;
        operation = "operation": Text<'v, 'p>, Text<'static, 'static>;
        subresource = "subresource": Text<'v, 'p>, Text<'static, 'static>;
        time = "time": Time<'v, 'p>, Time<'static, 'static>;
    }
}

structs! {
    ListMeta ListMetaMut {
        r#continue = "continue": Text<'v, 'p>, Text<'static, 'static>;
        remaining_item_count = "remainingItemCount": Integer<'v, 'p>, Integer<'static, 'static>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
        self_link = "selfLink": Text<'v, 'p>, Text<'static, 'static>;
        shard_info = "shardInfo": ShardInfo<'v, 'p>, ShardInfoMut<'m>;
    }
}

structs! {
    ShardInfo ShardInfoMut {
        selector = "selector": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Condition ConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    FieldSelectorRequirement FieldSelectorRequirementMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

kinds! {
    DeleteOptions DeleteOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        dry_run = "dryRun": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        grace_period_seconds = "gracePeriodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        ignore_store_read_error_with_cluster_breaking_potential = "ignoreStoreReadErrorWithClusterBreakingPotential": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        orphan_dependents = "orphanDependents": Boolean<'v, 'p>, Boolean<'static, 'static>;
        preconditions = "preconditions": Preconditions<'v, 'p>, PreconditionsMut<'m>;
        propagation_policy = "propagationPolicy": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DeleteOptionsPart DeleteOptionsPartMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        dry_run = "dryRun": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        grace_period_seconds = "gracePeriodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        ignore_store_read_error_with_cluster_breaking_potential = "ignoreStoreReadErrorWithClusterBreakingPotential": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        orphan_dependents = "orphanDependents": Boolean<'v, 'p>, Boolean<'static, 'static>;
        preconditions = "preconditions": Preconditions<'v, 'p>, PreconditionsMut<'m>;
        propagation_policy = "propagationPolicy": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Preconditions PreconditionsMut {
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    GroupResource GroupResourceMut {
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    APIGroup APIGroupMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        preferred_version = "preferredVersion": GroupVersionForDiscovery<'v, 'p>, GroupVersionForDiscoveryMut<'m>;
        server_address_by_client_cidrs = "serverAddressByClientCIDRs": List<ServerAddressByClientCIDR<'v, 'p>>, List<ServerAddressByClientCIDRMut<'m>>;
        versions = "versions": List<GroupVersionForDiscovery<'v, 'p>>, List<GroupVersionForDiscoveryMut<'m>>;
    }
}

structs! {
    GroupVersionForDiscovery GroupVersionForDiscoveryMut {
        group_version = "groupVersion": Text<'v, 'p>, Text<'static, 'static>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ServerAddressByClientCIDR ServerAddressByClientCIDRMut {
        client_cidr = "clientCIDR": Text<'v, 'p>, Text<'static, 'static>;
        server_address = "serverAddress": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    APIResource APIResourceMut {
        categories = "categories": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespaced = "namespaced": Boolean<'v, 'p>, Boolean<'static, 'static>;
        short_names = "shortNames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        singular_name = "singularName": Text<'v, 'p>, Text<'static, 'static>;
        storage_version_hash = "storageVersionHash": Text<'v, 'p>, Text<'static, 'static>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    APIVersions APIVersionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        server_address_by_client_cidrs = "serverAddressByClientCIDRs": List<ServerAddressByClientCIDR<'v, 'p>>, List<ServerAddressByClientCIDRMut<'m>>;
        versions = "versions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    Patch PatchMut {
    }
}

kinds! {
    Status StatusMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        code = "code": Integer<'v, 'p>, Integer<'static, 'static>;
        details = "details": StatusDetails<'v, 'p>, StatusDetailsMut<'m>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": ListMeta<'v, 'p>, ListMetaMut<'m>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StatusPart StatusPartMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        code = "code": Integer<'v, 'p>, Integer<'static, 'static>;
        details = "details": StatusDetails<'v, 'p>, StatusDetailsMut<'m>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": ListMeta<'v, 'p>, ListMetaMut<'m>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StatusDetails StatusDetailsMut {
        causes = "causes": List<StatusCause<'v, 'p>>, List<StatusCauseMut<'m>>;
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        retry_after_seconds = "retryAfterSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StatusCause StatusCauseMut {
        field = "field": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    WatchEvent WatchEventMut {
        object = "object": Raw<'v, 'p>, Raw<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    CreateOptions CreateOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        dry_run = "dryRun": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        field_manager = "fieldManager": Text<'v, 'p>, Text<'static, 'static>;
        field_validation = "fieldValidation": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    UpdateOptions UpdateOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        dry_run = "dryRun": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        field_manager = "fieldManager": Text<'v, 'p>, Text<'static, 'static>;
        field_validation = "fieldValidation": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    PatchOptions PatchOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        dry_run = "dryRun": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        field_manager = "fieldManager": Text<'v, 'p>, Text<'static, 'static>;
        field_validation = "fieldValidation": Text<'v, 'p>, Text<'static, 'static>;
        force = "force": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    GetOptions GetOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ListOptions ListOptionsMut {
        allow_watch_bookmarks = "allowWatchBookmarks": Boolean<'v, 'p>, Boolean<'static, 'static>;
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        r#continue = "continue": Text<'v, 'p>, Text<'static, 'static>;
        field_selector = "fieldSelector": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        label_selector = "labelSelector": Text<'v, 'p>, Text<'static, 'static>;
        limit = "limit": Integer<'v, 'p>, Integer<'static, 'static>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
        resource_version_match = "resourceVersionMatch": Text<'v, 'p>, Text<'static, 'static>;
        send_initial_events = "sendInitialEvents": Boolean<'v, 'p>, Boolean<'static, 'static>;
        shard_selector = "shardSelector": Text<'v, 'p>, Text<'static, 'static>;
        timeout_seconds = "timeoutSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        watch = "watch": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

kinds! {
    Table TableMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        column_definitions = "columnDefinitions": List<TableColumnDefinition<'v, 'p>>, List<TableColumnDefinitionMut<'m>>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": ListMeta<'v, 'p>, ListMetaMut<'m>;
        rows = "rows": List<TableRow<'v, 'p>>, List<TableRowMut<'m>>;
    }
}

structs! {
    TableColumnDefinition TableColumnDefinitionMut {
        description = "description": Text<'v, 'p>, Text<'static, 'static>;
        format = "format": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        priority = "priority": Integer<'v, 'p>, Integer<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    TableRow TableRowMut {
        cells = "cells": List<Raw<'v, 'p>>, List<Raw<'static, 'static>>;
        conditions = "conditions": List<TableRowCondition<'v, 'p>>, List<TableRowConditionMut<'m>>;
        object = "object": Raw<'v, 'p>, Raw<'static, 'static>;
    }
}

structs! {
    TableRowCondition TableRowConditionMut {
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    PartialObjectMetadata PartialObjectMetadataMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": ObjectMeta<'v, 'p>, ObjectMetaMut<'m>;
    }
}

structs! {
    GroupVersionKind GroupVersionKindMut {
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    GroupVersionResource GroupVersionResourceMut {
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

