// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `core/v1`.

use crate::declare::prelude::*;

structs! {
    PodTemplateSpec PodTemplateSpecMut {
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PodSpec<'v, 'p>, PodSpecMut<'m>;
    }
}

structs! {
    PodSpec PodSpecMut {
        active_deadline_seconds = "activeDeadlineSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        affinity = "affinity": Affinity<'v, 'p>, AffinityMut<'m>;
        automount_service_account_token = "automountServiceAccountToken": Boolean<'v, 'p>, Boolean<'static, 'static>;
        containers = "containers": List<Container<'v, 'p>>, List<ContainerMut<'m>>;
        dns_config = "dnsConfig": PodDNSConfig<'v, 'p>, PodDNSConfigMut<'m>;
        dns_policy = "dnsPolicy": Text<'v, 'p>, Text<'static, 'static>;
        enable_service_links = "enableServiceLinks": Boolean<'v, 'p>, Boolean<'static, 'static>;
        ephemeral_containers = "ephemeralContainers": List<EphemeralContainer<'v, 'p>>, List<EphemeralContainerMut<'m>>;
        host_aliases = "hostAliases": List<HostAlias<'v, 'p>>, List<HostAliasMut<'m>>;
        host_ipc = "hostIPC": Boolean<'v, 'p>, Boolean<'static, 'static>;
        host_network = "hostNetwork": Boolean<'v, 'p>, Boolean<'static, 'static>;
        host_pid = "hostPID": Boolean<'v, 'p>, Boolean<'static, 'static>;
        host_users = "hostUsers": Boolean<'v, 'p>, Boolean<'static, 'static>;
        hostname = "hostname": Text<'v, 'p>, Text<'static, 'static>;
        hostname_override = "hostnameOverride": Text<'v, 'p>, Text<'static, 'static>;
        image_pull_secrets = "imagePullSecrets": List<LocalObjectReference<'v, 'p>>, List<LocalObjectReferenceMut<'m>>;
        init_containers = "initContainers": List<Container<'v, 'p>>, List<ContainerMut<'m>>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        node_selector = "nodeSelector": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        os = "os": PodOS<'v, 'p>, PodOSMut<'m>;
        overhead = "overhead": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        preemption_policy = "preemptionPolicy": Text<'v, 'p>, Text<'static, 'static>;
        priority = "priority": Integer<'v, 'p>, Integer<'static, 'static>;
        priority_class_name = "priorityClassName": Text<'v, 'p>, Text<'static, 'static>;
        readiness_gates = "readinessGates": List<PodReadinessGate<'v, 'p>>, List<PodReadinessGateMut<'m>>;
        resource_claims = "resourceClaims": List<PodResourceClaim<'v, 'p>>, List<PodResourceClaimMut<'m>>;
        resources = "resources": ResourceRequirements<'v, 'p>, ResourceRequirementsMut<'m>;
        restart_policy = "restartPolicy": Text<'v, 'p>, Text<'static, 'static>;
        runtime_class_name = "runtimeClassName": Text<'v, 'p>, Text<'static, 'static>;
        scheduler_name = "schedulerName": Text<'v, 'p>, Text<'static, 'static>;
        scheduling_gates = "schedulingGates": List<PodSchedulingGate<'v, 'p>>, List<PodSchedulingGateMut<'m>>;
        scheduling_group = "schedulingGroup": PodSchedulingGroup<'v, 'p>, PodSchedulingGroupMut<'m>;
        security_context = "securityContext": PodSecurityContext<'v, 'p>, PodSecurityContextMut<'m>;
        service_account = "serviceAccount": Text<'v, 'p>, Text<'static, 'static>;
        service_account_name = "serviceAccountName": Text<'v, 'p>, Text<'static, 'static>;
        set_hostname_as_fqdn = "setHostnameAsFQDN": Boolean<'v, 'p>, Boolean<'static, 'static>;
        share_process_namespace = "shareProcessNamespace": Boolean<'v, 'p>, Boolean<'static, 'static>;
        subdomain = "subdomain": Text<'v, 'p>, Text<'static, 'static>;
        termination_grace_period_seconds = "terminationGracePeriodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        tolerations = "tolerations": List<Toleration<'v, 'p>>, List<TolerationMut<'m>>;
        topology_spread_constraints = "topologySpreadConstraints": List<TopologySpreadConstraint<'v, 'p>>, List<TopologySpreadConstraintMut<'m>>;
        volumes = "volumes": List<Volume<'v, 'p>>, List<VolumeMut<'m>>;
    }
}

structs! {
    Volume VolumeMut {
        aws_elastic_block_store = "awsElasticBlockStore": AWSElasticBlockStoreVolumeSource<'v, 'p>, AWSElasticBlockStoreVolumeSourceMut<'m>;
        azure_disk = "azureDisk": AzureDiskVolumeSource<'v, 'p>, AzureDiskVolumeSourceMut<'m>;
        azure_file = "azureFile": AzureFileVolumeSource<'v, 'p>, AzureFileVolumeSourceMut<'m>;
        cephfs = "cephfs": CephFSVolumeSource<'v, 'p>, CephFSVolumeSourceMut<'m>;
        cinder = "cinder": CinderVolumeSource<'v, 'p>, CinderVolumeSourceMut<'m>;
        config_map = "configMap": ConfigMapVolumeSource<'v, 'p>, ConfigMapVolumeSourceMut<'m>;
        csi = "csi": CSIVolumeSource<'v, 'p>, CSIVolumeSourceMut<'m>;
        downward_api = "downwardAPI": DownwardAPIVolumeSource<'v, 'p>, DownwardAPIVolumeSourceMut<'m>;
        empty_dir = "emptyDir": EmptyDirVolumeSource<'v, 'p>, EmptyDirVolumeSourceMut<'m>;
        ephemeral = "ephemeral": EphemeralVolumeSource<'v, 'p>, EphemeralVolumeSourceMut<'m>;
        fc = "fc": FCVolumeSource<'v, 'p>, FCVolumeSourceMut<'m>;
        flex_volume = "flexVolume": FlexVolumeSource<'v, 'p>, FlexVolumeSourceMut<'m>;
        flocker = "flocker": FlockerVolumeSource<'v, 'p>, FlockerVolumeSourceMut<'m>;
        gce_persistent_disk = "gcePersistentDisk": GCEPersistentDiskVolumeSource<'v, 'p>, GCEPersistentDiskVolumeSourceMut<'m>;
        git_repo = "gitRepo": GitRepoVolumeSource<'v, 'p>, GitRepoVolumeSourceMut<'m>;
        glusterfs = "glusterfs": GlusterfsVolumeSource<'v, 'p>, GlusterfsVolumeSourceMut<'m>;
        host_path = "hostPath": HostPathVolumeSource<'v, 'p>, HostPathVolumeSourceMut<'m>;
        image = "image": ImageVolumeSource<'v, 'p>, ImageVolumeSourceMut<'m>;
        iscsi = "iscsi": ISCSIVolumeSource<'v, 'p>, ISCSIVolumeSourceMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        nfs = "nfs": NFSVolumeSource<'v, 'p>, NFSVolumeSourceMut<'m>;
        persistent_volume_claim = "persistentVolumeClaim": PersistentVolumeClaimVolumeSource<'v, 'p>, PersistentVolumeClaimVolumeSourceMut<'m>;
        photon_persistent_disk = "photonPersistentDisk": PhotonPersistentDiskVolumeSource<'v, 'p>, PhotonPersistentDiskVolumeSourceMut<'m>;
        portworx_volume = "portworxVolume": PortworxVolumeSource<'v, 'p>, PortworxVolumeSourceMut<'m>;
        projected = "projected": ProjectedVolumeSource<'v, 'p>, ProjectedVolumeSourceMut<'m>;
        quobyte = "quobyte": QuobyteVolumeSource<'v, 'p>, QuobyteVolumeSourceMut<'m>;
        rbd = "rbd": RBDVolumeSource<'v, 'p>, RBDVolumeSourceMut<'m>;
        scale_io = "scaleIO": ScaleIOVolumeSource<'v, 'p>, ScaleIOVolumeSourceMut<'m>;
        secret = "secret": SecretVolumeSource<'v, 'p>, SecretVolumeSourceMut<'m>;
        storageos = "storageos": StorageOSVolumeSource<'v, 'p>, StorageOSVolumeSourceMut<'m>;
        vsphere_volume = "vsphereVolume": VsphereVirtualDiskVolumeSource<'v, 'p>, VsphereVirtualDiskVolumeSourceMut<'m>;
    }
}

structs! {
    HostPathVolumeSource HostPathVolumeSourceMut {
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EmptyDirVolumeSource EmptyDirVolumeSourceMut {
        medium = "medium": Text<'v, 'p>, Text<'static, 'static>;
        size_limit = "sizeLimit": Quantity<'v, 'p>, Quantity<'static, 'static>;
    }
}

structs! {
    GCEPersistentDiskVolumeSource GCEPersistentDiskVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        partition = "partition": Integer<'v, 'p>, Integer<'static, 'static>;
        pd_name = "pdName": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    AWSElasticBlockStoreVolumeSource AWSElasticBlockStoreVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        partition = "partition": Integer<'v, 'p>, Integer<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        volume_id = "volumeID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    GitRepoVolumeSource GitRepoVolumeSourceMut {
        directory = "directory": Text<'v, 'p>, Text<'static, 'static>;
        repository = "repository": Text<'v, 'p>, Text<'static, 'static>;
        revision = "revision": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SecretVolumeSource SecretVolumeSourceMut {
        default_mode = "defaultMode": Integer<'v, 'p>, Integer<'static, 'static>;
        items = "items": List<KeyToPath<'v, 'p>>, List<KeyToPathMut<'m>>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_name = "secretName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    KeyToPath KeyToPathMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        mode = "mode": Integer<'v, 'p>, Integer<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NFSVolumeSource NFSVolumeSourceMut {
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        server = "server": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ISCSIVolumeSource ISCSIVolumeSourceMut {
        chap_auth_discovery = "chapAuthDiscovery": Boolean<'v, 'p>, Boolean<'static, 'static>;
        chap_auth_session = "chapAuthSession": Boolean<'v, 'p>, Boolean<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        initiator_name = "initiatorName": Text<'v, 'p>, Text<'static, 'static>;
        iqn = "iqn": Text<'v, 'p>, Text<'static, 'static>;
        iscsi_interface = "iscsiInterface": Text<'v, 'p>, Text<'static, 'static>;
        lun = "lun": Integer<'v, 'p>, Integer<'static, 'static>;
        portals = "portals": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        target_portal = "targetPortal": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    LocalObjectReference LocalObjectReferenceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    GlusterfsVolumeSource GlusterfsVolumeSourceMut {
        endpoints = "endpoints": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    PersistentVolumeClaimVolumeSource PersistentVolumeClaimVolumeSourceMut {
        claim_name = "claimName": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    RBDVolumeSource RBDVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        image = "image": Text<'v, 'p>, Text<'static, 'static>;
        keyring = "keyring": Text<'v, 'p>, Text<'static, 'static>;
        monitors = "monitors": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        pool = "pool": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    FlexVolumeSource FlexVolumeSourceMut {
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        options = "options": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
    }
}

structs! {
    CinderVolumeSource CinderVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        volume_id = "volumeID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CephFSVolumeSource CephFSVolumeSourceMut {
        monitors = "monitors": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_file = "secretFile": Text<'v, 'p>, Text<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    FlockerVolumeSource FlockerVolumeSourceMut {
        dataset_name = "datasetName": Text<'v, 'p>, Text<'static, 'static>;
        dataset_uuid = "datasetUUID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DownwardAPIVolumeSource DownwardAPIVolumeSourceMut {
        default_mode = "defaultMode": Integer<'v, 'p>, Integer<'static, 'static>;
        items = "items": List<DownwardAPIVolumeFile<'v, 'p>>, List<DownwardAPIVolumeFileMut<'m>>;
    }
}

structs! {
    DownwardAPIVolumeFile DownwardAPIVolumeFileMut {
        field_ref = "fieldRef": ObjectFieldSelector<'v, 'p>, ObjectFieldSelectorMut<'m>;
        mode = "mode": Integer<'v, 'p>, Integer<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        resource_field_ref = "resourceFieldRef": ResourceFieldSelector<'v, 'p>, ResourceFieldSelectorMut<'m>;
    }
}

structs! {
    ObjectFieldSelector ObjectFieldSelectorMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        field_path = "fieldPath": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ResourceFieldSelector ResourceFieldSelectorMut {
        container_name = "containerName": Text<'v, 'p>, Text<'static, 'static>;
        divisor = "divisor": Quantity<'v, 'p>, Quantity<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    FCVolumeSource FCVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        lun = "lun": Integer<'v, 'p>, Integer<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        target_wwns = "targetWWNs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        wwids = "wwids": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    AzureFileVolumeSource AzureFileVolumeSourceMut {
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_name = "secretName": Text<'v, 'p>, Text<'static, 'static>;
        share_name = "shareName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ConfigMapVolumeSource ConfigMapVolumeSourceMut {
        default_mode = "defaultMode": Integer<'v, 'p>, Integer<'static, 'static>;
        items = "items": List<KeyToPath<'v, 'p>>, List<KeyToPathMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    VsphereVirtualDiskVolumeSource VsphereVirtualDiskVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        storage_policy_id = "storagePolicyID": Text<'v, 'p>, Text<'static, 'static>;
        storage_policy_name = "storagePolicyName": Text<'v, 'p>, Text<'static, 'static>;
        volume_path = "volumePath": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    QuobyteVolumeSource QuobyteVolumeSourceMut {
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        registry = "registry": Text<'v, 'p>, Text<'static, 'static>;
        tenant = "tenant": Text<'v, 'p>, Text<'static, 'static>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
        volume = "volume": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    AzureDiskVolumeSource AzureDiskVolumeSourceMut {
        caching_mode = "cachingMode": Text<'v, 'p>, Text<'static, 'static>;
        disk_name = "diskName": Text<'v, 'p>, Text<'static, 'static>;
        disk_uri = "diskURI": Text<'v, 'p>, Text<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    PhotonPersistentDiskVolumeSource PhotonPersistentDiskVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        pd_id = "pdID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ProjectedVolumeSource ProjectedVolumeSourceMut {
        default_mode = "defaultMode": Integer<'v, 'p>, Integer<'static, 'static>;
        sources = "sources": List<VolumeProjection<'v, 'p>>, List<VolumeProjectionMut<'m>>;
    }
}

structs! {
    VolumeProjection VolumeProjectionMut {
        cluster_trust_bundle = "clusterTrustBundle": ClusterTrustBundleProjection<'v, 'p>, ClusterTrustBundleProjectionMut<'m>;
        config_map = "configMap": ConfigMapProjection<'v, 'p>, ConfigMapProjectionMut<'m>;
        downward_api = "downwardAPI": DownwardAPIProjection<'v, 'p>, DownwardAPIProjectionMut<'m>;
        pod_certificate = "podCertificate": PodCertificateProjection<'v, 'p>, PodCertificateProjectionMut<'m>;
        secret = "secret": SecretProjection<'v, 'p>, SecretProjectionMut<'m>;
        service_account_token = "serviceAccountToken": ServiceAccountTokenProjection<'v, 'p>, ServiceAccountTokenProjectionMut<'m>;
    }
}

structs! {
    SecretProjection SecretProjectionMut {
        items = "items": List<KeyToPath<'v, 'p>>, List<KeyToPathMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    DownwardAPIProjection DownwardAPIProjectionMut {
        items = "items": List<DownwardAPIVolumeFile<'v, 'p>>, List<DownwardAPIVolumeFileMut<'m>>;
    }
}

structs! {
    ConfigMapProjection ConfigMapProjectionMut {
        items = "items": List<KeyToPath<'v, 'p>>, List<KeyToPathMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    ServiceAccountTokenProjection ServiceAccountTokenProjectionMut {
        audience = "audience": Text<'v, 'p>, Text<'static, 'static>;
        expiration_seconds = "expirationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ClusterTrustBundleProjection ClusterTrustBundleProjectionMut {
        label_selector = "labelSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        signer_name = "signerName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodCertificateProjection PodCertificateProjectionMut {
        certificate_chain_path = "certificateChainPath": Text<'v, 'p>, Text<'static, 'static>;
        credential_bundle_path = "credentialBundlePath": Text<'v, 'p>, Text<'static, 'static>;
        key_path = "keyPath": Text<'v, 'p>, Text<'static, 'static>;
        key_type = "keyType": Text<'v, 'p>, Text<'static, 'static>;
        max_expiration_seconds = "maxExpirationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        signer_name = "signerName": Text<'v, 'p>, Text<'static, 'static>;
        user_annotations = "userAnnotations": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

structs! {
    PortworxVolumeSource PortworxVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        volume_id = "volumeID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ScaleIOVolumeSource ScaleIOVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        gateway = "gateway": Text<'v, 'p>, Text<'static, 'static>;
        protection_domain = "protectionDomain": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        ssl_enabled = "sslEnabled": Boolean<'v, 'p>, Boolean<'static, 'static>;
        storage_mode = "storageMode": Text<'v, 'p>, Text<'static, 'static>;
        storage_pool = "storagePool": Text<'v, 'p>, Text<'static, 'static>;
        system = "system": Text<'v, 'p>, Text<'static, 'static>;
        volume_name = "volumeName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StorageOSVolumeSource StorageOSVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        volume_name = "volumeName": Text<'v, 'p>, Text<'static, 'static>;
        volume_namespace = "volumeNamespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CSIVolumeSource CSIVolumeSourceMut {
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        node_publish_secret_ref = "nodePublishSecretRef": LocalObjectReference<'v, 'p>, LocalObjectReferenceMut<'m>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        volume_attributes = "volumeAttributes": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

structs! {
    EphemeralVolumeSource EphemeralVolumeSourceMut {
        volume_claim_template = "volumeClaimTemplate": PersistentVolumeClaimTemplate<'v, 'p>, PersistentVolumeClaimTemplateMut<'m>;
    }
}

structs! {
    PersistentVolumeClaimTemplate PersistentVolumeClaimTemplateMut {
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PersistentVolumeClaimSpec<'v, 'p>, PersistentVolumeClaimSpecMut<'m>;
    }
}

structs! {
    PersistentVolumeClaimSpec PersistentVolumeClaimSpecMut {
        access_modes = "accessModes": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        data_source = "dataSource": TypedLocalObjectReference<'v, 'p>, TypedLocalObjectReferenceMut<'m>;
        data_source_ref = "dataSourceRef": TypedObjectReference<'v, 'p>, TypedObjectReferenceMut<'m>;
        resources = "resources": VolumeResourceRequirements<'v, 'p>, VolumeResourceRequirementsMut<'m>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        storage_class_name = "storageClassName": Text<'v, 'p>, Text<'static, 'static>;
        volume_attributes_class_name = "volumeAttributesClassName": Text<'v, 'p>, Text<'static, 'static>;
        volume_mode = "volumeMode": Text<'v, 'p>, Text<'static, 'static>;
        volume_name = "volumeName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    VolumeResourceRequirements VolumeResourceRequirementsMut {
        limits = "limits": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        requests = "requests": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
    }
}

structs! {
    TypedLocalObjectReference TypedLocalObjectReferenceMut {
        api_group = "apiGroup": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    TypedObjectReference TypedObjectReferenceMut {
        api_group = "apiGroup": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ImageVolumeSource ImageVolumeSourceMut {
        pull_policy = "pullPolicy": Text<'v, 'p>, Text<'static, 'static>;
        reference = "reference": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Container ContainerMut {
        args = "args": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        command = "command": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        env = "env": List<EnvVar<'v, 'p>>, List<EnvVarMut<'m>>;
        env_from = "envFrom": List<EnvFromSource<'v, 'p>>, List<EnvFromSourceMut<'m>>;
        image = "image": Text<'v, 'p>, Text<'static, 'static>;
        image_pull_policy = "imagePullPolicy": Text<'v, 'p>, Text<'static, 'static>;
        lifecycle = "lifecycle": Lifecycle<'v, 'p>, LifecycleMut<'m>;
        liveness_probe = "livenessProbe": Probe<'v, 'p>, ProbeMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        ports = "ports": List<ContainerPort<'v, 'p>>, List<ContainerPortMut<'m>>;
        readiness_probe = "readinessProbe": Probe<'v, 'p>, ProbeMut<'m>;
        resize_policy = "resizePolicy": List<ContainerResizePolicy<'v, 'p>>, List<ContainerResizePolicyMut<'m>>;
        resources = "resources": ResourceRequirements<'v, 'p>, ResourceRequirementsMut<'m>;
        restart_policy = "restartPolicy": Text<'v, 'p>, Text<'static, 'static>;
        restart_policy_rules = "restartPolicyRules": List<ContainerRestartRule<'v, 'p>>, List<ContainerRestartRuleMut<'m>>;
        security_context = "securityContext": SecurityContext<'v, 'p>, SecurityContextMut<'m>;
        startup_probe = "startupProbe": Probe<'v, 'p>, ProbeMut<'m>;
        stdin = "stdin": Boolean<'v, 'p>, Boolean<'static, 'static>;
        stdin_once = "stdinOnce": Boolean<'v, 'p>, Boolean<'static, 'static>;
        termination_message_path = "terminationMessagePath": Text<'v, 'p>, Text<'static, 'static>;
        termination_message_policy = "terminationMessagePolicy": Text<'v, 'p>, Text<'static, 'static>;
        tty = "tty": Boolean<'v, 'p>, Boolean<'static, 'static>;
        volume_devices = "volumeDevices": List<VolumeDevice<'v, 'p>>, List<VolumeDeviceMut<'m>>;
        volume_mounts = "volumeMounts": List<VolumeMount<'v, 'p>>, List<VolumeMountMut<'m>>;
        working_dir = "workingDir": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerPort ContainerPortMut {
        container_port = "containerPort": Integer<'v, 'p>, Integer<'static, 'static>;
        host_ip = "hostIP": Text<'v, 'p>, Text<'static, 'static>;
        host_port = "hostPort": Integer<'v, 'p>, Integer<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EnvFromSource EnvFromSourceMut {
        config_map_ref = "configMapRef": ConfigMapEnvSource<'v, 'p>, ConfigMapEnvSourceMut<'m>;
        prefix = "prefix": Text<'v, 'p>, Text<'static, 'static>;
        secret_ref = "secretRef": SecretEnvSource<'v, 'p>, SecretEnvSourceMut<'m>;
    }
}

structs! {
    ConfigMapEnvSource ConfigMapEnvSourceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    SecretEnvSource SecretEnvSourceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    EnvVar EnvVarMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
        value_from = "valueFrom": EnvVarSource<'v, 'p>, EnvVarSourceMut<'m>;
    }
}

structs! {
    EnvVarSource EnvVarSourceMut {
        config_map_key_ref = "configMapKeyRef": ConfigMapKeySelector<'v, 'p>, ConfigMapKeySelectorMut<'m>;
        field_ref = "fieldRef": ObjectFieldSelector<'v, 'p>, ObjectFieldSelectorMut<'m>;
        file_key_ref = "fileKeyRef": FileKeySelector<'v, 'p>, FileKeySelectorMut<'m>;
        resource_field_ref = "resourceFieldRef": ResourceFieldSelector<'v, 'p>, ResourceFieldSelectorMut<'m>;
        secret_key_ref = "secretKeyRef": SecretKeySelector<'v, 'p>, SecretKeySelectorMut<'m>;
    }
}

structs! {
    ConfigMapKeySelector ConfigMapKeySelectorMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    SecretKeySelector SecretKeySelectorMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    FileKeySelector FileKeySelectorMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        optional = "optional": Boolean<'v, 'p>, Boolean<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        volume_name = "volumeName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ResourceRequirements ResourceRequirementsMut {
        claims = "claims": List<ResourceClaim<'v, 'p>>, List<ResourceClaimMut<'m>>;
        limits = "limits": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        requests = "requests": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
    }
}

structs! {
    ResourceClaim ResourceClaimMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        request = "request": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerResizePolicy ContainerResizePolicyMut {
        resource_name = "resourceName": Text<'v, 'p>, Text<'static, 'static>;
        restart_policy = "restartPolicy": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerRestartRule ContainerRestartRuleMut {
        action = "action": Text<'v, 'p>, Text<'static, 'static>;
        exit_codes = "exitCodes": ContainerRestartRuleOnExitCodes<'v, 'p>, ContainerRestartRuleOnExitCodesMut<'m>;
    }
}

structs! {
    ContainerRestartRuleOnExitCodes ContainerRestartRuleOnExitCodesMut {
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Integer<'v, 'p>>, List<Integer<'static, 'static>>;
    }
}

structs! {
    VolumeMount VolumeMountMut {
        mount_path = "mountPath": Text<'v, 'p>, Text<'static, 'static>;
        mount_propagation = "mountPropagation": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        recursive_read_only = "recursiveReadOnly": Text<'v, 'p>, Text<'static, 'static>;
        sub_path = "subPath": Text<'v, 'p>, Text<'static, 'static>;
        sub_path_expr = "subPathExpr": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    VolumeDevice VolumeDeviceMut {
        device_path = "devicePath": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Probe ProbeMut {
        exec = "exec": ExecAction<'v, 'p>, ExecActionMut<'m>;
        failure_threshold = "failureThreshold": Integer<'v, 'p>, Integer<'static, 'static>;
        grpc = "grpc": GRPCAction<'v, 'p>, GRPCActionMut<'m>;
        http_get = "httpGet": HTTPGetAction<'v, 'p>, HTTPGetActionMut<'m>;
        initial_delay_seconds = "initialDelaySeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        period_seconds = "periodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        success_threshold = "successThreshold": Integer<'v, 'p>, Integer<'static, 'static>;
        tcp_socket = "tcpSocket": TCPSocketAction<'v, 'p>, TCPSocketActionMut<'m>;
        termination_grace_period_seconds = "terminationGracePeriodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        timeout_seconds = "timeoutSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ExecAction ExecActionMut {
        command = "command": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    HTTPGetAction HTTPGetActionMut {
        host = "host": Text<'v, 'p>, Text<'static, 'static>;
        http_headers = "httpHeaders": List<HTTPHeader<'v, 'p>>, List<HTTPHeaderMut<'m>>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        scheme = "scheme": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    HTTPHeader HTTPHeaderMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    TCPSocketAction TCPSocketActionMut {
        host = "host": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    GRPCAction GRPCActionMut {
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        service = "service": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Lifecycle LifecycleMut {
        post_start = "postStart": LifecycleHandler<'v, 'p>, LifecycleHandlerMut<'m>;
        pre_stop = "preStop": LifecycleHandler<'v, 'p>, LifecycleHandlerMut<'m>;
        stop_signal = "stopSignal": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    LifecycleHandler LifecycleHandlerMut {
        exec = "exec": ExecAction<'v, 'p>, ExecActionMut<'m>;
        http_get = "httpGet": HTTPGetAction<'v, 'p>, HTTPGetActionMut<'m>;
        sleep = "sleep": SleepAction<'v, 'p>, SleepActionMut<'m>;
        tcp_socket = "tcpSocket": TCPSocketAction<'v, 'p>, TCPSocketActionMut<'m>;
    }
}

structs! {
    SleepAction SleepActionMut {
        seconds = "seconds": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    SecurityContext SecurityContextMut {
        allow_privilege_escalation = "allowPrivilegeEscalation": Boolean<'v, 'p>, Boolean<'static, 'static>;
        app_armor_profile = "appArmorProfile": AppArmorProfile<'v, 'p>, AppArmorProfileMut<'m>;
        capabilities = "capabilities": Capabilities<'v, 'p>, CapabilitiesMut<'m>;
        privileged = "privileged": Boolean<'v, 'p>, Boolean<'static, 'static>;
        proc_mount = "procMount": Text<'v, 'p>, Text<'static, 'static>;
        read_only_root_filesystem = "readOnlyRootFilesystem": Boolean<'v, 'p>, Boolean<'static, 'static>;
        run_as_group = "runAsGroup": Integer<'v, 'p>, Integer<'static, 'static>;
        run_as_non_root = "runAsNonRoot": Boolean<'v, 'p>, Boolean<'static, 'static>;
        run_as_user = "runAsUser": Integer<'v, 'p>, Integer<'static, 'static>;
        se_linux_options = "seLinuxOptions": SELinuxOptions<'v, 'p>, SELinuxOptionsMut<'m>;
        seccomp_profile = "seccompProfile": SeccompProfile<'v, 'p>, SeccompProfileMut<'m>;
        windows_options = "windowsOptions": WindowsSecurityContextOptions<'v, 'p>, WindowsSecurityContextOptionsMut<'m>;
    }
}

structs! {
    Capabilities CapabilitiesMut {
        add = "add": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        drop = "drop": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    SELinuxOptions SELinuxOptionsMut {
        level = "level": Text<'v, 'p>, Text<'static, 'static>;
        role = "role": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    WindowsSecurityContextOptions WindowsSecurityContextOptionsMut {
        gmsa_credential_spec = "gmsaCredentialSpec": Text<'v, 'p>, Text<'static, 'static>;
        gmsa_credential_spec_name = "gmsaCredentialSpecName": Text<'v, 'p>, Text<'static, 'static>;
        host_process = "hostProcess": Boolean<'v, 'p>, Boolean<'static, 'static>;
        run_as_user_name = "runAsUserName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SeccompProfile SeccompProfileMut {
        localhost_profile = "localhostProfile": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    AppArmorProfile AppArmorProfileMut {
        localhost_profile = "localhostProfile": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EphemeralContainer EphemeralContainerMut {
        args = "args": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        command = "command": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        env = "env": List<EnvVar<'v, 'p>>, List<EnvVarMut<'m>>;
        env_from = "envFrom": List<EnvFromSource<'v, 'p>>, List<EnvFromSourceMut<'m>>;
        image = "image": Text<'v, 'p>, Text<'static, 'static>;
        image_pull_policy = "imagePullPolicy": Text<'v, 'p>, Text<'static, 'static>;
        lifecycle = "lifecycle": Lifecycle<'v, 'p>, LifecycleMut<'m>;
        liveness_probe = "livenessProbe": Probe<'v, 'p>, ProbeMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        ports = "ports": List<ContainerPort<'v, 'p>>, List<ContainerPortMut<'m>>;
        readiness_probe = "readinessProbe": Probe<'v, 'p>, ProbeMut<'m>;
        resize_policy = "resizePolicy": List<ContainerResizePolicy<'v, 'p>>, List<ContainerResizePolicyMut<'m>>;
        resources = "resources": ResourceRequirements<'v, 'p>, ResourceRequirementsMut<'m>;
        restart_policy = "restartPolicy": Text<'v, 'p>, Text<'static, 'static>;
        restart_policy_rules = "restartPolicyRules": List<ContainerRestartRule<'v, 'p>>, List<ContainerRestartRuleMut<'m>>;
        security_context = "securityContext": SecurityContext<'v, 'p>, SecurityContextMut<'m>;
        startup_probe = "startupProbe": Probe<'v, 'p>, ProbeMut<'m>;
        stdin = "stdin": Boolean<'v, 'p>, Boolean<'static, 'static>;
        stdin_once = "stdinOnce": Boolean<'v, 'p>, Boolean<'static, 'static>;
        target_container_name = "targetContainerName": Text<'v, 'p>, Text<'static, 'static>;
        termination_message_path = "terminationMessagePath": Text<'v, 'p>, Text<'static, 'static>;
        termination_message_policy = "terminationMessagePolicy": Text<'v, 'p>, Text<'static, 'static>;
        tty = "tty": Boolean<'v, 'p>, Boolean<'static, 'static>;
        volume_devices = "volumeDevices": List<VolumeDevice<'v, 'p>>, List<VolumeDeviceMut<'m>>;
        volume_mounts = "volumeMounts": List<VolumeMount<'v, 'p>>, List<VolumeMountMut<'m>>;
        working_dir = "workingDir": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodSecurityContext PodSecurityContextMut {
        app_armor_profile = "appArmorProfile": AppArmorProfile<'v, 'p>, AppArmorProfileMut<'m>;
        fs_group = "fsGroup": Integer<'v, 'p>, Integer<'static, 'static>;
        fs_group_change_policy = "fsGroupChangePolicy": Text<'v, 'p>, Text<'static, 'static>;
        run_as_group = "runAsGroup": Integer<'v, 'p>, Integer<'static, 'static>;
        run_as_non_root = "runAsNonRoot": Boolean<'v, 'p>, Boolean<'static, 'static>;
        run_as_user = "runAsUser": Integer<'v, 'p>, Integer<'static, 'static>;
        se_linux_change_policy = "seLinuxChangePolicy": Text<'v, 'p>, Text<'static, 'static>;
        se_linux_options = "seLinuxOptions": SELinuxOptions<'v, 'p>, SELinuxOptionsMut<'m>;
        seccomp_profile = "seccompProfile": SeccompProfile<'v, 'p>, SeccompProfileMut<'m>;
        supplemental_groups = "supplementalGroups": List<Integer<'v, 'p>>, List<Integer<'static, 'static>>;
        supplemental_groups_policy = "supplementalGroupsPolicy": Text<'v, 'p>, Text<'static, 'static>;
        sysctls = "sysctls": List<Sysctl<'v, 'p>>, List<SysctlMut<'m>>;
        windows_options = "windowsOptions": WindowsSecurityContextOptions<'v, 'p>, WindowsSecurityContextOptionsMut<'m>;
    }
}

structs! {
    Sysctl SysctlMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Affinity AffinityMut {
        node_affinity = "nodeAffinity": NodeAffinity<'v, 'p>, NodeAffinityMut<'m>;
        pod_affinity = "podAffinity": PodAffinity<'v, 'p>, PodAffinityMut<'m>;
        pod_anti_affinity = "podAntiAffinity": PodAntiAffinity<'v, 'p>, PodAntiAffinityMut<'m>;
    }
}

structs! {
    NodeAffinity NodeAffinityMut {
        preferred_during_scheduling_ignored_during_execution = "preferredDuringSchedulingIgnoredDuringExecution": List<PreferredSchedulingTerm<'v, 'p>>, List<PreferredSchedulingTermMut<'m>>;
        required_during_scheduling_ignored_during_execution = "requiredDuringSchedulingIgnoredDuringExecution": NodeSelector<'v, 'p>, NodeSelectorMut<'m>;
    }
}

structs! {
    NodeSelector NodeSelectorMut {
        node_selector_terms = "nodeSelectorTerms": List<NodeSelectorTerm<'v, 'p>>, List<NodeSelectorTermMut<'m>>;
    }
}

structs! {
    NodeSelectorTerm NodeSelectorTermMut {
        match_expressions = "matchExpressions": List<NodeSelectorRequirement<'v, 'p>>, List<NodeSelectorRequirementMut<'m>>;
        match_fields = "matchFields": List<NodeSelectorRequirement<'v, 'p>>, List<NodeSelectorRequirementMut<'m>>;
    }
}

structs! {
    NodeSelectorRequirement NodeSelectorRequirementMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    PreferredSchedulingTerm PreferredSchedulingTermMut {
        preference = "preference": NodeSelectorTerm<'v, 'p>, NodeSelectorTermMut<'m>;
        weight = "weight": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    PodAffinity PodAffinityMut {
        preferred_during_scheduling_ignored_during_execution = "preferredDuringSchedulingIgnoredDuringExecution": List<WeightedPodAffinityTerm<'v, 'p>>, List<WeightedPodAffinityTermMut<'m>>;
        required_during_scheduling_ignored_during_execution = "requiredDuringSchedulingIgnoredDuringExecution": List<PodAffinityTerm<'v, 'p>>, List<PodAffinityTermMut<'m>>;
    }
}

structs! {
    PodAffinityTerm PodAffinityTermMut {
        label_selector = "labelSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        match_label_keys = "matchLabelKeys": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        mismatch_label_keys = "mismatchLabelKeys": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        namespace_selector = "namespaceSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        namespaces = "namespaces": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        topology_key = "topologyKey": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    WeightedPodAffinityTerm WeightedPodAffinityTermMut {
        pod_affinity_term = "podAffinityTerm": PodAffinityTerm<'v, 'p>, PodAffinityTermMut<'m>;
        weight = "weight": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    PodAntiAffinity PodAntiAffinityMut {
        preferred_during_scheduling_ignored_during_execution = "preferredDuringSchedulingIgnoredDuringExecution": List<WeightedPodAffinityTerm<'v, 'p>>, List<WeightedPodAffinityTermMut<'m>>;
        required_during_scheduling_ignored_during_execution = "requiredDuringSchedulingIgnoredDuringExecution": List<PodAffinityTerm<'v, 'p>>, List<PodAffinityTermMut<'m>>;
    }
}

structs! {
    Toleration TolerationMut {
        effect = "effect": Text<'v, 'p>, Text<'static, 'static>;
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        toleration_seconds = "tolerationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    HostAlias HostAliasMut {
        hostnames = "hostnames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodDNSConfig PodDNSConfigMut {
        nameservers = "nameservers": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        options = "options": List<PodDNSConfigOption<'v, 'p>>, List<PodDNSConfigOptionMut<'m>>;
        searches = "searches": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    PodDNSConfigOption PodDNSConfigOptionMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodReadinessGate PodReadinessGateMut {
        condition_type = "conditionType": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    TopologySpreadConstraint TopologySpreadConstraintMut {
        label_selector = "labelSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        match_label_keys = "matchLabelKeys": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        max_skew = "maxSkew": Integer<'v, 'p>, Integer<'static, 'static>;
        min_domains = "minDomains": Integer<'v, 'p>, Integer<'static, 'static>;
        node_affinity_policy = "nodeAffinityPolicy": Text<'v, 'p>, Text<'static, 'static>;
        node_taints_policy = "nodeTaintsPolicy": Text<'v, 'p>, Text<'static, 'static>;
        topology_key = "topologyKey": Text<'v, 'p>, Text<'static, 'static>;
        when_unsatisfiable = "whenUnsatisfiable": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodOS PodOSMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodSchedulingGate PodSchedulingGateMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodResourceClaim PodResourceClaimMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_name = "resourceClaimName": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_template_name = "resourceClaimTemplateName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodSchedulingGroup PodSchedulingGroupMut {
        pod_group_name = "podGroupName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    PersistentVolumeClaim PersistentVolumeClaimMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PersistentVolumeClaimSpec<'v, 'p>, PersistentVolumeClaimSpecMut<'m>;
        status = "status": PersistentVolumeClaimStatus<'v, 'p>, PersistentVolumeClaimStatusMut<'m>;
    }
}

structs! {
    PersistentVolumeClaimPart PersistentVolumeClaimPartMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PersistentVolumeClaimSpec<'v, 'p>, PersistentVolumeClaimSpecMut<'m>;
        status = "status": PersistentVolumeClaimStatus<'v, 'p>, PersistentVolumeClaimStatusMut<'m>;
    }
}

structs! {
    PersistentVolumeClaimStatus PersistentVolumeClaimStatusMut {
        access_modes = "accessModes": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        allocated_resource_statuses = "allocatedResourceStatuses": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        allocated_resources = "allocatedResources": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        capacity = "capacity": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        conditions = "conditions": List<PersistentVolumeClaimCondition<'v, 'p>>, List<PersistentVolumeClaimConditionMut<'m>>;
        current_volume_attributes_class_name = "currentVolumeAttributesClassName": Text<'v, 'p>, Text<'static, 'static>;
        modify_volume_status = "modifyVolumeStatus": ModifyVolumeStatus<'v, 'p>, ModifyVolumeStatusMut<'m>;
        phase = "phase": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PersistentVolumeClaimCondition PersistentVolumeClaimConditionMut {
        last_probe_time = "lastProbeTime": Time<'v, 'p>, Time<'static, 'static>;
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ModifyVolumeStatus ModifyVolumeStatusMut {
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        target_volume_attributes_class_name = "targetVolumeAttributesClassName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ObjectReference ObjectReferenceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        field_path = "fieldPath": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    AttachedVolume AttachedVolumeMut {
        device_path = "devicePath": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    AzureFilePersistentVolumeSource AzureFilePersistentVolumeSourceMut {
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_name = "secretName": Text<'v, 'p>, Text<'static, 'static>;
        secret_namespace = "secretNamespace": Text<'v, 'p>, Text<'static, 'static>;
        share_name = "shareName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Binding BindingMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        target = "target": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
    }
}

structs! {
    CSIPersistentVolumeSource CSIPersistentVolumeSourceMut {
        controller_expand_secret_ref = "controllerExpandSecretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        controller_publish_secret_ref = "controllerPublishSecretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        node_expand_secret_ref = "nodeExpandSecretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        node_publish_secret_ref = "nodePublishSecretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        node_stage_secret_ref = "nodeStageSecretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        volume_attributes = "volumeAttributes": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        volume_handle = "volumeHandle": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SecretReference SecretReferenceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CephFSPersistentVolumeSource CephFSPersistentVolumeSourceMut {
        monitors = "monitors": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_file = "secretFile": Text<'v, 'p>, Text<'static, 'static>;
        secret_ref = "secretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CinderPersistentVolumeSource CinderPersistentVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        volume_id = "volumeID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ClientIPConfig ClientIPConfigMut {
        timeout_seconds = "timeoutSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ComponentCondition ComponentConditionMut {
        error = "error": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ComponentStatus ComponentStatusMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        conditions = "conditions": List<ComponentCondition<'v, 'p>>, List<ComponentConditionMut<'m>>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
    }
}

kinds! {
    ConfigMap ConfigMapMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        binary_data = "binaryData": Map<Bytes<'v, 'p>>, Map<Bytes<'static, 'static>>;
        data = "data": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        immutable = "immutable": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
    }
}

structs! {
    ConfigMapNodeConfigSource ConfigMapNodeConfigSourceMut {
        kubelet_config_key = "kubeletConfigKey": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerExtendedResourceRequest ContainerExtendedResourceRequestMut {
        container_name = "containerName": Text<'v, 'p>, Text<'static, 'static>;
        request_name = "requestName": Text<'v, 'p>, Text<'static, 'static>;
        resource_name = "resourceName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerImage ContainerImageMut {
        names = "names": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        size_bytes = "sizeBytes": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ContainerState ContainerStateMut {
        running = "running": ContainerStateRunning<'v, 'p>, ContainerStateRunningMut<'m>;
        terminated = "terminated": ContainerStateTerminated<'v, 'p>, ContainerStateTerminatedMut<'m>;
        waiting = "waiting": ContainerStateWaiting<'v, 'p>, ContainerStateWaitingMut<'m>;
    }
}

structs! {
    ContainerStateWaiting ContainerStateWaitingMut {
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerStateRunning ContainerStateRunningMut {
        started_at = "startedAt": Time<'v, 'p>, Time<'static, 'static>;
    }
}

structs! {
    ContainerStateTerminated ContainerStateTerminatedMut {
        container_id = "containerID": Text<'v, 'p>, Text<'static, 'static>;
        exit_code = "exitCode": Integer<'v, 'p>, Integer<'static, 'static>;
        finished_at = "finishedAt": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        signal = "signal": Integer<'v, 'p>, Integer<'static, 'static>;
        started_at = "startedAt": Time<'v, 'p>, Time<'static, 'static>;
    }
}

structs! {
    ContainerStatus ContainerStatusMut {
        allocated_resources = "allocatedResources": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        allocated_resources_status = "allocatedResourcesStatus": List<ResourceStatus<'v, 'p>>, List<ResourceStatusMut<'m>>;
        container_id = "containerID": Text<'v, 'p>, Text<'static, 'static>;
        image = "image": Text<'v, 'p>, Text<'static, 'static>;
        image_id = "imageID": Text<'v, 'p>, Text<'static, 'static>;
        last_state = "lastState": ContainerState<'v, 'p>, ContainerStateMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        ready = "ready": Boolean<'v, 'p>, Boolean<'static, 'static>;
        resources = "resources": ResourceRequirements<'v, 'p>, ResourceRequirementsMut<'m>;
        restart_count = "restartCount": Integer<'v, 'p>, Integer<'static, 'static>;
        started = "started": Boolean<'v, 'p>, Boolean<'static, 'static>;
        state = "state": ContainerState<'v, 'p>, ContainerStateMut<'m>;
        stop_signal = "stopSignal": Text<'v, 'p>, Text<'static, 'static>;
        user = "user": ContainerUser<'v, 'p>, ContainerUserMut<'m>;
        volume_mounts = "volumeMounts": List<VolumeMountStatus<'v, 'p>>, List<VolumeMountStatusMut<'m>>;
    }
}

structs! {
    VolumeMountStatus VolumeMountStatusMut {
        mount_path = "mountPath": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        recursive_read_only = "recursiveReadOnly": Text<'v, 'p>, Text<'static, 'static>;
        volume_status = "volumeStatus": VolumeStatus<'v, 'p>, VolumeStatusMut<'m>;
    }
}

structs! {
    VolumeStatus VolumeStatusMut {
        image = "image": ImageVolumeStatus<'v, 'p>, ImageVolumeStatusMut<'m>;
    }
}

structs! {
    ImageVolumeStatus ImageVolumeStatusMut {
        image_ref = "imageRef": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ContainerUser ContainerUserMut {
        linux = "linux": LinuxContainerUser<'v, 'p>, LinuxContainerUserMut<'m>;
    }
}

structs! {
    LinuxContainerUser LinuxContainerUserMut {
        gid = "gid": Integer<'v, 'p>, Integer<'static, 'static>;
        supplemental_groups = "supplementalGroups": List<Integer<'v, 'p>>, List<Integer<'static, 'static>>;
        uid = "uid": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ResourceStatus ResourceStatusMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resources = "resources": List<ResourceHealth<'v, 'p>>, List<ResourceHealthMut<'m>>;
    }
}

structs! {
    ResourceHealth ResourceHealthMut {
        health = "health": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        resource_id = "resourceID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DaemonEndpoint DaemonEndpointMut {
        port = "Port": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    EndpointAddress EndpointAddressMut {
        hostname = "hostname": Text<'v, 'p>, Text<'static, 'static>;
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        target_ref = "targetRef": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
    }
}

structs! {
    EndpointPort EndpointPortMut {
        app_protocol = "appProtocol": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EndpointSubset EndpointSubsetMut {
        addresses = "addresses": List<EndpointAddress<'v, 'p>>, List<EndpointAddressMut<'m>>;
        not_ready_addresses = "notReadyAddresses": List<EndpointAddress<'v, 'p>>, List<EndpointAddressMut<'m>>;
        ports = "ports": List<EndpointPort<'v, 'p>>, List<EndpointPortMut<'m>>;
    }
}

kinds! {
    Endpoints EndpointsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        subsets = "subsets": List<EndpointSubset<'v, 'p>>, List<EndpointSubsetMut<'m>>;
    }
}

kinds! {
    Event EventMut {
        action = "action": Text<'v, 'p>, Text<'static, 'static>;
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
        event_time = "eventTime": Time<'v, 'p>, Time<'static, 'static>;
        first_timestamp = "firstTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        involved_object = "involvedObject": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        last_timestamp = "lastTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        related = "related": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
        reporting_component = "reportingComponent": Text<'v, 'p>, Text<'static, 'static>;
        reporting_instance = "reportingInstance": Text<'v, 'p>, Text<'static, 'static>;
        series = "series": EventSeries<'v, 'p>, EventSeriesMut<'m>;
        source = "source": EventSource<'v, 'p>, EventSourceMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EventSource EventSourceMut {
        component = "component": Text<'v, 'p>, Text<'static, 'static>;
        host = "host": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EventSeries EventSeriesMut {
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
        last_observed_time = "lastObservedTime": Time<'v, 'p>, Time<'static, 'static>;
    }
}

structs! {
    FlexPersistentVolumeSource FlexPersistentVolumeSourceMut {
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        options = "options": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
    }
}

structs! {
    GlusterfsPersistentVolumeSource GlusterfsPersistentVolumeSourceMut {
        endpoints = "endpoints": Text<'v, 'p>, Text<'static, 'static>;
        endpoints_namespace = "endpointsNamespace": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    HostIP HostIPMut {
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ISCSIPersistentVolumeSource ISCSIPersistentVolumeSourceMut {
        chap_auth_discovery = "chapAuthDiscovery": Boolean<'v, 'p>, Boolean<'static, 'static>;
        chap_auth_session = "chapAuthSession": Boolean<'v, 'p>, Boolean<'static, 'static>;
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        initiator_name = "initiatorName": Text<'v, 'p>, Text<'static, 'static>;
        iqn = "iqn": Text<'v, 'p>, Text<'static, 'static>;
        iscsi_interface = "iscsiInterface": Text<'v, 'p>, Text<'static, 'static>;
        lun = "lun": Integer<'v, 'p>, Integer<'static, 'static>;
        portals = "portals": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        target_portal = "targetPortal": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    LimitRange LimitRangeMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": LimitRangeSpec<'v, 'p>, LimitRangeSpecMut<'m>;
    }
}

structs! {
    LimitRangeSpec LimitRangeSpecMut {
        limits = "limits": List<LimitRangeItem<'v, 'p>>, List<LimitRangeItemMut<'m>>;
    }
}

structs! {
    LimitRangeItem LimitRangeItemMut {
        default = "default": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        default_request = "defaultRequest": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        max = "max": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        max_limit_request_ratio = "maxLimitRequestRatio": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        min = "min": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    LoadBalancerIngress LoadBalancerIngressMut {
        hostname = "hostname": Text<'v, 'p>, Text<'static, 'static>;
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
        ip_mode = "ipMode": Text<'v, 'p>, Text<'static, 'static>;
        ports = "ports": List<PortStatus<'v, 'p>>, List<PortStatusMut<'m>>;
    }
}

structs! {
    PortStatus PortStatusMut {
        error = "error": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    LoadBalancerStatus LoadBalancerStatusMut {
        ingress = "ingress": List<LoadBalancerIngress<'v, 'p>>, List<LoadBalancerIngressMut<'m>>;
    }
}

structs! {
    LocalVolumeSource LocalVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Namespace NamespaceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": NamespaceSpec<'v, 'p>, NamespaceSpecMut<'m>;
        status = "status": NamespaceStatus<'v, 'p>, NamespaceStatusMut<'m>;
    }
}

structs! {
    NamespaceSpec NamespaceSpecMut {
        finalizers = "finalizers": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    NamespaceStatus NamespaceStatusMut {
        conditions = "conditions": List<NamespaceCondition<'v, 'p>>, List<NamespaceConditionMut<'m>>;
        phase = "phase": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NamespaceCondition NamespaceConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Node NodeMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": NodeSpec<'v, 'p>, NodeSpecMut<'m>;
        status = "status": NodeStatus<'v, 'p>, NodeStatusMut<'m>;
    }
}

structs! {
    NodeSpec NodeSpecMut {
        config_source = "configSource": NodeConfigSource<'v, 'p>, NodeConfigSourceMut<'m>;
        external_id = "externalID": Text<'v, 'p>, Text<'static, 'static>;
        pod_cidr = "podCIDR": Text<'v, 'p>, Text<'static, 'static>;
        pod_cidrs = "podCIDRs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        provider_id = "providerID": Text<'v, 'p>, Text<'static, 'static>;
        taints = "taints": List<Taint<'v, 'p>>, List<TaintMut<'m>>;
        unschedulable = "unschedulable": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    Taint TaintMut {
        effect = "effect": Text<'v, 'p>, Text<'static, 'static>;
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        time_added = "timeAdded": Time<'v, 'p>, Time<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NodeConfigSource NodeConfigSourceMut {
        config_map = "configMap": ConfigMapNodeConfigSource<'v, 'p>, ConfigMapNodeConfigSourceMut<'m>;
    }
}

structs! {
    NodeStatus NodeStatusMut {
        addresses = "addresses": List<NodeAddress<'v, 'p>>, List<NodeAddressMut<'m>>;
        allocatable = "allocatable": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        capacity = "capacity": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        conditions = "conditions": List<NodeCondition<'v, 'p>>, List<NodeConditionMut<'m>>;
        config = "config": NodeConfigStatus<'v, 'p>, NodeConfigStatusMut<'m>;
        daemon_endpoints = "daemonEndpoints": NodeDaemonEndpoints<'v, 'p>, NodeDaemonEndpointsMut<'m>;
        declared_features = "declaredFeatures": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        features = "features": NodeFeatures<'v, 'p>, NodeFeaturesMut<'m>;
        images = "images": List<ContainerImage<'v, 'p>>, List<ContainerImageMut<'m>>;
        node_info = "nodeInfo": NodeSystemInfo<'v, 'p>, NodeSystemInfoMut<'m>;
        phase = "phase": Text<'v, 'p>, Text<'static, 'static>;
        runtime_handlers = "runtimeHandlers": List<NodeRuntimeHandler<'v, 'p>>, List<NodeRuntimeHandlerMut<'m>>;
        volumes_attached = "volumesAttached": List<AttachedVolume<'v, 'p>>, List<AttachedVolumeMut<'m>>;
        volumes_in_use = "volumesInUse": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    NodeCondition NodeConditionMut {
        last_heartbeat_time = "lastHeartbeatTime": Time<'v, 'p>, Time<'static, 'static>;
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NodeAddress NodeAddressMut {
        address = "address": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NodeDaemonEndpoints NodeDaemonEndpointsMut {
        kubelet_endpoint = "kubeletEndpoint": DaemonEndpoint<'v, 'p>, DaemonEndpointMut<'m>;
    }
}

structs! {
    NodeSystemInfo NodeSystemInfoMut {
        architecture = "architecture": Text<'v, 'p>, Text<'static, 'static>;
        boot_id = "bootID": Text<'v, 'p>, Text<'static, 'static>;
        container_runtime_version = "containerRuntimeVersion": Text<'v, 'p>, Text<'static, 'static>;
        kernel_version = "kernelVersion": Text<'v, 'p>, Text<'static, 'static>;
        kube_proxy_version = "kubeProxyVersion": Text<'v, 'p>, Text<'static, 'static>;
        kubelet_version = "kubeletVersion": Text<'v, 'p>, Text<'static, 'static>;
        machine_id = "machineID": Text<'v, 'p>, Text<'static, 'static>;
        operating_system = "operatingSystem": Text<'v, 'p>, Text<'static, 'static>;
        os_image = "osImage": Text<'v, 'p>, Text<'static, 'static>;
        swap = "swap": NodeSwapStatus<'v, 'p>, NodeSwapStatusMut<'m>;
        system_uuid = "systemUUID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NodeSwapStatus NodeSwapStatusMut {
        capacity = "capacity": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    NodeConfigStatus NodeConfigStatusMut {
        active = "active": NodeConfigSource<'v, 'p>, NodeConfigSourceMut<'m>;
        assigned = "assigned": NodeConfigSource<'v, 'p>, NodeConfigSourceMut<'m>;
        error = "error": Text<'v, 'p>, Text<'static, 'static>;
        last_known_good = "lastKnownGood": NodeConfigSource<'v, 'p>, NodeConfigSourceMut<'m>;
    }
}

structs! {
    NodeRuntimeHandler NodeRuntimeHandlerMut {
        features = "features": NodeRuntimeHandlerFeatures<'v, 'p>, NodeRuntimeHandlerFeaturesMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NodeRuntimeHandlerFeatures NodeRuntimeHandlerFeaturesMut {
        recursive_read_only_mounts = "recursiveReadOnlyMounts": Boolean<'v, 'p>, Boolean<'static, 'static>;
        user_namespaces = "userNamespaces": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    NodeFeatures NodeFeaturesMut {
        supplemental_groups_policy = "supplementalGroupsPolicy": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    NodeAllocatableResourceClaimStatus NodeAllocatableResourceClaimStatusMut {
        containers = "containers": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resource_claim_name = "resourceClaimName": Text<'v, 'p>, Text<'static, 'static>;
        resources = "resources": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
    }
}

kinds! {
    PersistentVolume PersistentVolumeMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PersistentVolumeSpec<'v, 'p>, PersistentVolumeSpecMut<'m>;
        status = "status": PersistentVolumeStatus<'v, 'p>, PersistentVolumeStatusMut<'m>;
    }
}

structs! {
    PersistentVolumeSpec PersistentVolumeSpecMut {
        access_modes = "accessModes": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        aws_elastic_block_store = "awsElasticBlockStore": AWSElasticBlockStoreVolumeSource<'v, 'p>, AWSElasticBlockStoreVolumeSourceMut<'m>;
        azure_disk = "azureDisk": AzureDiskVolumeSource<'v, 'p>, AzureDiskVolumeSourceMut<'m>;
        azure_file = "azureFile": AzureFilePersistentVolumeSource<'v, 'p>, AzureFilePersistentVolumeSourceMut<'m>;
        capacity = "capacity": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        cephfs = "cephfs": CephFSPersistentVolumeSource<'v, 'p>, CephFSPersistentVolumeSourceMut<'m>;
        cinder = "cinder": CinderPersistentVolumeSource<'v, 'p>, CinderPersistentVolumeSourceMut<'m>;
        claim_ref = "claimRef": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
        csi = "csi": CSIPersistentVolumeSource<'v, 'p>, CSIPersistentVolumeSourceMut<'m>;
        fc = "fc": FCVolumeSource<'v, 'p>, FCVolumeSourceMut<'m>;
        flex_volume = "flexVolume": FlexPersistentVolumeSource<'v, 'p>, FlexPersistentVolumeSourceMut<'m>;
        flocker = "flocker": FlockerVolumeSource<'v, 'p>, FlockerVolumeSourceMut<'m>;
        gce_persistent_disk = "gcePersistentDisk": GCEPersistentDiskVolumeSource<'v, 'p>, GCEPersistentDiskVolumeSourceMut<'m>;
        glusterfs = "glusterfs": GlusterfsPersistentVolumeSource<'v, 'p>, GlusterfsPersistentVolumeSourceMut<'m>;
        host_path = "hostPath": HostPathVolumeSource<'v, 'p>, HostPathVolumeSourceMut<'m>;
        iscsi = "iscsi": ISCSIPersistentVolumeSource<'v, 'p>, ISCSIPersistentVolumeSourceMut<'m>;
        local = "local": LocalVolumeSource<'v, 'p>, LocalVolumeSourceMut<'m>;
        mount_options = "mountOptions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        nfs = "nfs": NFSVolumeSource<'v, 'p>, NFSVolumeSourceMut<'m>;
        node_affinity = "nodeAffinity": VolumeNodeAffinity<'v, 'p>, VolumeNodeAffinityMut<'m>;
        persistent_volume_reclaim_policy = "persistentVolumeReclaimPolicy": Text<'v, 'p>, Text<'static, 'static>;
        photon_persistent_disk = "photonPersistentDisk": PhotonPersistentDiskVolumeSource<'v, 'p>, PhotonPersistentDiskVolumeSourceMut<'m>;
        portworx_volume = "portworxVolume": PortworxVolumeSource<'v, 'p>, PortworxVolumeSourceMut<'m>;
        quobyte = "quobyte": QuobyteVolumeSource<'v, 'p>, QuobyteVolumeSourceMut<'m>;
        rbd = "rbd": RBDPersistentVolumeSource<'v, 'p>, RBDPersistentVolumeSourceMut<'m>;
        scale_io = "scaleIO": ScaleIOPersistentVolumeSource<'v, 'p>, ScaleIOPersistentVolumeSourceMut<'m>;
        storage_class_name = "storageClassName": Text<'v, 'p>, Text<'static, 'static>;
        storageos = "storageos": StorageOSPersistentVolumeSource<'v, 'p>, StorageOSPersistentVolumeSourceMut<'m>;
        volume_attributes_class_name = "volumeAttributesClassName": Text<'v, 'p>, Text<'static, 'static>;
        volume_mode = "volumeMode": Text<'v, 'p>, Text<'static, 'static>;
        vsphere_volume = "vsphereVolume": VsphereVirtualDiskVolumeSource<'v, 'p>, VsphereVirtualDiskVolumeSourceMut<'m>;
    }
}

structs! {
    VolumeNodeAffinity VolumeNodeAffinityMut {
        required = "required": NodeSelector<'v, 'p>, NodeSelectorMut<'m>;
    }
}

structs! {
    RBDPersistentVolumeSource RBDPersistentVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        image = "image": Text<'v, 'p>, Text<'static, 'static>;
        keyring = "keyring": Text<'v, 'p>, Text<'static, 'static>;
        monitors = "monitors": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        pool = "pool": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ScaleIOPersistentVolumeSource ScaleIOPersistentVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        gateway = "gateway": Text<'v, 'p>, Text<'static, 'static>;
        protection_domain = "protectionDomain": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": SecretReference<'v, 'p>, SecretReferenceMut<'m>;
        ssl_enabled = "sslEnabled": Boolean<'v, 'p>, Boolean<'static, 'static>;
        storage_mode = "storageMode": Text<'v, 'p>, Text<'static, 'static>;
        storage_pool = "storagePool": Text<'v, 'p>, Text<'static, 'static>;
        system = "system": Text<'v, 'p>, Text<'static, 'static>;
        volume_name = "volumeName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StorageOSPersistentVolumeSource StorageOSPersistentVolumeSourceMut {
        fs_type = "fsType": Text<'v, 'p>, Text<'static, 'static>;
        read_only = "readOnly": Boolean<'v, 'p>, Boolean<'static, 'static>;
        secret_ref = "secretRef": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
        volume_name = "volumeName": Text<'v, 'p>, Text<'static, 'static>;
        volume_namespace = "volumeNamespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PersistentVolumeStatus PersistentVolumeStatusMut {
        last_phase_transition_time = "lastPhaseTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        phase = "phase": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Pod PodMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PodSpec<'v, 'p>, PodSpecMut<'m>;
        status = "status": PodStatus<'v, 'p>, PodStatusMut<'m>;
    }
}

structs! {
    PodStatus PodStatusMut {
        allocated_resources = "allocatedResources": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        conditions = "conditions": List<PodCondition<'v, 'p>>, List<PodConditionMut<'m>>;
        container_statuses = "containerStatuses": List<ContainerStatus<'v, 'p>>, List<ContainerStatusMut<'m>>;
        ephemeral_container_statuses = "ephemeralContainerStatuses": List<ContainerStatus<'v, 'p>>, List<ContainerStatusMut<'m>>;
        extended_resource_claim_status = "extendedResourceClaimStatus": PodExtendedResourceClaimStatus<'v, 'p>, PodExtendedResourceClaimStatusMut<'m>;
        host_ip = "hostIP": Text<'v, 'p>, Text<'static, 'static>;
        host_ips = "hostIPs": List<HostIP<'v, 'p>>, List<HostIPMut<'m>>;
        init_container_statuses = "initContainerStatuses": List<ContainerStatus<'v, 'p>>, List<ContainerStatusMut<'m>>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        node_allocatable_resource_claim_statuses = "nodeAllocatableResourceClaimStatuses": List<NodeAllocatableResourceClaimStatus<'v, 'p>>, List<NodeAllocatableResourceClaimStatusMut<'m>>;
        nominated_node_name = "nominatedNodeName": Text<'v, 'p>, Text<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        phase = "phase": Text<'v, 'p>, Text<'static, 'static>;
        pod_ip = "podIP": Text<'v, 'p>, Text<'static, 'static>;
        pod_ips = "podIPs": List<PodIP<'v, 'p>>, List<PodIPMut<'m>>;
        qos_class = "qosClass": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        resize = "resize": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_statuses = "resourceClaimStatuses": List<PodResourceClaimStatus<'v, 'p>>, List<PodResourceClaimStatusMut<'m>>;
        resources = "resources": ResourceRequirements<'v, 'p>, ResourceRequirementsMut<'m>;
        start_time = "startTime": Time<'v, 'p>, Time<'static, 'static>;
    }
}

structs! {
    PodCondition PodConditionMut {
        last_probe_time = "lastProbeTime": Time<'v, 'p>, Time<'static, 'static>;
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodIP PodIPMut {
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodResourceClaimStatus PodResourceClaimStatusMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_name = "resourceClaimName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodExtendedResourceClaimStatus PodExtendedResourceClaimStatusMut {
        request_mappings = "requestMappings": List<ContainerExtendedResourceRequest<'v, 'p>>, List<ContainerExtendedResourceRequestMut<'m>>;
        resource_claim_name = "resourceClaimName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    PodTemplate PodTemplateMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        template = "template": PodTemplateSpec<'v, 'p>, PodTemplateSpecMut<'m>;
    }
}

kinds! {
    ReplicationController ReplicationControllerMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ReplicationControllerSpec<'v, 'p>, ReplicationControllerSpecMut<'m>;
        status = "status": ReplicationControllerStatus<'v, 'p>, ReplicationControllerStatusMut<'m>;
    }
}

structs! {
    ReplicationControllerSpec ReplicationControllerSpecMut {
        min_ready_seconds = "minReadySeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        selector = "selector": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        template = "template": PodTemplateSpec<'v, 'p>, PodTemplateSpecMut<'m>;
    }
}

structs! {
    ReplicationControllerStatus ReplicationControllerStatusMut {
        available_replicas = "availableReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        conditions = "conditions": List<ReplicationControllerCondition<'v, 'p>>, List<ReplicationControllerConditionMut<'m>>;
        fully_labeled_replicas = "fullyLabeledReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        ready_replicas = "readyReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ReplicationControllerCondition ReplicationControllerConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ResourceQuota ResourceQuotaMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ResourceQuotaSpec<'v, 'p>, ResourceQuotaSpecMut<'m>;
        status = "status": ResourceQuotaStatus<'v, 'p>, ResourceQuotaStatusMut<'m>;
    }
}

structs! {
    ResourceQuotaSpec ResourceQuotaSpecMut {
        hard = "hard": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        scope_selector = "scopeSelector": ScopeSelector<'v, 'p>, ScopeSelectorMut<'m>;
        scopes = "scopes": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    ScopeSelector ScopeSelectorMut {
        match_expressions = "matchExpressions": List<ScopedResourceSelectorRequirement<'v, 'p>>, List<ScopedResourceSelectorRequirementMut<'m>>;
    }
}

structs! {
    ScopedResourceSelectorRequirement ScopedResourceSelectorRequirementMut {
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        scope_name = "scopeName": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    ResourceQuotaStatus ResourceQuotaStatusMut {
        hard = "hard": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        used = "used": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
    }
}

kinds! {
    Secret SecretMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        data = "data": Map<Bytes<'v, 'p>>, Map<Bytes<'static, 'static>>;
        immutable = "immutable": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        string_data = "stringData": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Service ServiceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ServiceSpec<'v, 'p>, ServiceSpecMut<'m>;
        status = "status": ServiceStatus<'v, 'p>, ServiceStatusMut<'m>;
    }
}

structs! {
    ServiceSpec ServiceSpecMut {
        allocate_load_balancer_node_ports = "allocateLoadBalancerNodePorts": Boolean<'v, 'p>, Boolean<'static, 'static>;
        cluster_ip = "clusterIP": Text<'v, 'p>, Text<'static, 'static>;
        cluster_ips = "clusterIPs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        external_ips = "externalIPs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        external_name = "externalName": Text<'v, 'p>, Text<'static, 'static>;
        external_traffic_policy = "externalTrafficPolicy": Text<'v, 'p>, Text<'static, 'static>;
        health_check_node_port = "healthCheckNodePort": Integer<'v, 'p>, Integer<'static, 'static>;
        internal_traffic_policy = "internalTrafficPolicy": Text<'v, 'p>, Text<'static, 'static>;
        ip_families = "ipFamilies": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        ip_family_policy = "ipFamilyPolicy": Text<'v, 'p>, Text<'static, 'static>;
        load_balancer_class = "loadBalancerClass": Text<'v, 'p>, Text<'static, 'static>;
        load_balancer_ip = "loadBalancerIP": Text<'v, 'p>, Text<'static, 'static>;
        load_balancer_source_ranges = "loadBalancerSourceRanges": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        ports = "ports": List<ServicePort<'v, 'p>>, List<ServicePortMut<'m>>;
        publish_not_ready_addresses = "publishNotReadyAddresses": Boolean<'v, 'p>, Boolean<'static, 'static>;
        selector = "selector": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        session_affinity = "sessionAffinity": Text<'v, 'p>, Text<'static, 'static>;
        session_affinity_config = "sessionAffinityConfig": SessionAffinityConfig<'v, 'p>, SessionAffinityConfigMut<'m>;
        traffic_distribution = "trafficDistribution": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ServicePort ServicePortMut {
        app_protocol = "appProtocol": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        node_port = "nodePort": Integer<'v, 'p>, Integer<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
        target_port = "targetPort": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    SessionAffinityConfig SessionAffinityConfigMut {
        client_ip = "clientIP": ClientIPConfig<'v, 'p>, ClientIPConfigMut<'m>;
    }
}

structs! {
    ServiceStatus ServiceStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        load_balancer = "loadBalancer": LoadBalancerStatus<'v, 'p>, LoadBalancerStatusMut<'m>;
    }
}

kinds! {
    ServiceAccount ServiceAccountMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        automount_service_account_token = "automountServiceAccountToken": Boolean<'v, 'p>, Boolean<'static, 'static>;
        image_pull_secrets = "imagePullSecrets": List<LocalObjectReference<'v, 'p>>, List<LocalObjectReferenceMut<'m>>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        secrets = "secrets": List<ObjectReference<'v, 'p>>, List<ObjectReferenceMut<'m>>;
    }
}

structs! {
    TopologySelectorLabelRequirement TopologySelectorLabelRequirementMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        values = "values": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    TopologySelectorTerm TopologySelectorTermMut {
        match_label_expressions = "matchLabelExpressions": List<TopologySelectorLabelRequirement<'v, 'p>>, List<TopologySelectorLabelRequirementMut<'m>>;
    }
}

kinds! {
    RangeAllocation RangeAllocationMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        data = "data": Bytes<'v, 'p>, Bytes<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        range = "range": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    SerializedReference SerializedReferenceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        reference = "reference": ObjectReference<'v, 'p>, ObjectReferenceMut<'m>;
    }
}

kinds! {
    PodExecOptions PodExecOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        command = "command": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        container = "container": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        stderr = "stderr": Boolean<'v, 'p>, Boolean<'static, 'static>;
        stdin = "stdin": Boolean<'v, 'p>, Boolean<'static, 'static>;
        stdout = "stdout": Boolean<'v, 'p>, Boolean<'static, 'static>;
        tty = "tty": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

kinds! {
    PodAttachOptions PodAttachOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        container = "container": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        stderr = "stderr": Boolean<'v, 'p>, Boolean<'static, 'static>;
        stdin = "stdin": Boolean<'v, 'p>, Boolean<'static, 'static>;
        stdout = "stdout": Boolean<'v, 'p>, Boolean<'static, 'static>;
        tty = "tty": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

kinds! {
    PodLogOptions PodLogOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        container = "container": Text<'v, 'p>, Text<'static, 'static>;
        follow = "follow": Boolean<'v, 'p>, Boolean<'static, 'static>;
        insecure_skip_tls_verify_backend = "insecureSkipTLSVerifyBackend": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        limit_bytes = "limitBytes": Integer<'v, 'p>, Integer<'static, 'static>;
        previous = "previous": Boolean<'v, 'p>, Boolean<'static, 'static>;
        since_seconds = "sinceSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        since_time = "sinceTime": Time<'v, 'p>, Time<'static, 'static>;
        stream = "stream": Text<'v, 'p>, Text<'static, 'static>;
        tail_lines = "tailLines": Integer<'v, 'p>, Integer<'static, 'static>;
        timestamps = "timestamps": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

kinds! {
    PodPortForwardOptions PodPortForwardOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        ports = "ports": List<Integer<'v, 'p>>, List<Integer<'static, 'static>>;
    }
}

kinds! {
    PodProxyOptions PodProxyOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    NodeProxyOptions NodeProxyOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ServiceProxyOptions ServiceProxyOptionsMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
    }
}

