// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! Every path of this crate: group → version → path → storage.

use registry_core::registry::storage_map::{Custom, Main, Scale, Status, Virtual};

registry_core::storage_map! {
    /// Every path of this crate.
    pub static STORAGE_MAP = {
        "" => {
            "v1" => {
                "bindings" => Virtual<crate::core::bindings::Bindings>,
                "componentstatuses" => Virtual<crate::core::componentstatuses::ComponentStatuses>,
                "configmaps" => Main<crate::core::configmaps::ConfigMaps>,
                "endpoints" => Main<crate::core::endpoints::Endpoints>,
                "events" => Main<crate::core::events::Events>,
                "limitranges" => Main<crate::core::limitranges::LimitRanges>,
                "namespaces" => Main<crate::core::namespaces::Namespaces>,
                "namespaces/finalize" => Custom<crate::core::namespaces::finalize::Finalize>,
                "namespaces/status" => Status<crate::core::namespaces::Namespaces>,
                "nodes" => Main<crate::core::nodes::Nodes>,
                "nodes/proxy" => Custom<crate::core::nodes::proxy::NodeProxy>,
                "nodes/status" => Status<crate::core::nodes::Nodes>,
                "persistentvolumeclaims" => Main<crate::core::persistentvolumeclaims::PersistentVolumeClaims>,
                "persistentvolumeclaims/status" => Status<crate::core::persistentvolumeclaims::PersistentVolumeClaims>,
                "persistentvolumes" => Main<crate::core::persistentvolumes::PersistentVolumes>,
                "persistentvolumes/status" => Status<crate::core::persistentvolumes::PersistentVolumes>,
                "pods" => Main<crate::core::pods::Pods>,
                "pods/attach" => Custom<crate::core::pods::connect::stream::Attach>,
                "pods/binding" => Custom<crate::core::pods::binding::PodBinding>,
                "pods/ephemeralcontainers" => Custom<crate::core::pods::ephemeral_containers::EphemeralContainers>,
                "pods/eviction" => Custom<crate::core::pods::eviction::PodEviction>,
                "pods/exec" => Custom<crate::core::pods::connect::stream::Exec>,
                "pods/log" => Custom<crate::core::pods::connect::log::Log>,
                "pods/portforward" => Custom<crate::core::pods::connect::stream::PortForward>,
                "pods/proxy" => Custom<crate::core::pods::connect::proxy::PodProxy>,
                "pods/resize" => Custom<crate::core::pods::resize::Resize>,
                "pods/status" => Status<crate::core::pods::Pods>,
                "podtemplates" => Main<crate::core::podtemplates::PodTemplates>,
                "replicationcontrollers" => Main<crate::core::replicationcontrollers::ReplicationControllers>,
                "replicationcontrollers/scale" => Scale<crate::core::replicationcontrollers::ReplicationControllers>,
                "replicationcontrollers/status" => Status<crate::core::replicationcontrollers::ReplicationControllers>,
                "resourcequotas" => Main<crate::core::resourcequotas::ResourceQuotas>,
                "resourcequotas/status" => Status<crate::core::resourcequotas::ResourceQuotas>,
                "secrets" => Main<crate::core::secrets::Secrets>,
                "serviceaccounts" => Main<crate::core::serviceaccounts::ServiceAccounts>,
                "serviceaccounts/token" => Custom<crate::core::serviceaccounts::token::Token>,
                "services" => Main<crate::core::services::Services>,
                "services/proxy" => Custom<crate::core::services::proxy::ServiceProxy>,
                "services/status" => Status<crate::core::services::Services>,
            },
        },
        "apiregistration.k8s.io" => {
            "v1" => {
                "apiservices" => Main<crate::apiregistration::apiservices::APIServices>,
                "apiservices/status" => Status<crate::apiregistration::apiservices::APIServices>,
            },
        },
        "apps" => {
            "v1" => {
                "controllerrevisions" => Main<crate::apps::controllerrevisions::ControllerRevisions>,
                "daemonsets" => Main<crate::apps::daemonsets::DaemonSets>,
                "daemonsets/status" => Status<crate::apps::daemonsets::DaemonSets>,
                "deployments" => Main<crate::apps::deployments::Deployments>,
                "deployments/scale" => Scale<crate::apps::deployments::Deployments>,
                "deployments/status" => Status<crate::apps::deployments::Deployments>,
                "replicasets" => Main<crate::apps::replicasets::ReplicaSets>,
                "replicasets/scale" => Scale<crate::apps::replicasets::ReplicaSets>,
                "replicasets/status" => Status<crate::apps::replicasets::ReplicaSets>,
                "statefulsets" => Main<crate::apps::statefulsets::StatefulSets>,
                "statefulsets/scale" => Scale<crate::apps::statefulsets::StatefulSets>,
                "statefulsets/status" => Status<crate::apps::statefulsets::StatefulSets>,
            },
        },
        "events.k8s.io" => {
            "v1" => {
                "events" => Main<crate::events::events_v1::EventsV1>,
            },
        },
        "authentication.k8s.io" => {
            "v1" => {
                "selfsubjectreviews" => Virtual<crate::authentication::selfsubjectreviews::SelfSubjectReviews>,
                "tokenreviews" => Virtual<crate::authentication::tokenreviews::TokenReviews>,
            },
        },
        "authorization.k8s.io" => {
            "v1" => {
                "localsubjectaccessreviews" => Virtual<crate::authorization::localsubjectaccessreviews::LocalSubjectAccessReviews>,
                "selfsubjectaccessreviews" => Virtual<crate::authorization::selfsubjectaccessreviews::SelfSubjectAccessReviews>,
                "selfsubjectrulesreviews" => Virtual<crate::authorization::selfsubjectrulesreviews::SelfSubjectRulesReviews>,
                "subjectaccessreviews" => Virtual<crate::authorization::subjectaccessreviews::SubjectAccessReviews>,
            },
        },
        "autoscaling" => {
            "v1" => {
                "horizontalpodautoscalers" => Main<crate::autoscaling::horizontalpodautoscalers_v1::HorizontalPodAutoscalersV1>,
                "horizontalpodautoscalers/status" => Status<crate::autoscaling::horizontalpodautoscalers_v1::HorizontalPodAutoscalersV1>,
            },
            "v2" => {
                "horizontalpodautoscalers" => Main<crate::autoscaling::horizontalpodautoscalers_v2::HorizontalPodAutoscalers>,
                "horizontalpodautoscalers/status" => Status<crate::autoscaling::horizontalpodautoscalers_v2::HorizontalPodAutoscalers>,
            },
        },
        "batch" => {
            "v1" => {
                "cronjobs" => Main<crate::batch::cronjobs::CronJobs>,
                "cronjobs/status" => Status<crate::batch::cronjobs::CronJobs>,
                "jobs" => Main<crate::batch::jobs::Jobs>,
                "jobs/status" => Status<crate::batch::jobs::Jobs>,
            },
        },
        "certificates.k8s.io" => {
            "v1" => {
                "certificatesigningrequests" => Main<crate::certificates::certificatesigningrequests::CertificateSigningRequests>,
                "certificatesigningrequests/approval" => Custom<crate::certificates::certificatesigningrequests::approval::Approval>,
                "certificatesigningrequests/status" => Status<crate::certificates::certificatesigningrequests::CertificateSigningRequests>,
            },
            "v1alpha1" => {
                "clustertrustbundles" => Main<crate::certificates::clustertrustbundles::v1alpha1::ClusterTrustBundlesV1alpha1>,
            },
            "v1beta1" => {
                "clustertrustbundles" => Main<crate::certificates::clustertrustbundles::ClusterTrustBundles>,
                "podcertificaterequests" => Main<crate::certificates::podcertificaterequests::PodCertificateRequests>,
                "podcertificaterequests/status" => Status<crate::certificates::podcertificaterequests::PodCertificateRequests>,
            },
        },
        "networking.k8s.io" => {
            "v1" => {
                "ingressclasses" => Main<crate::networking::ingressclasses::IngressClasses>,
                "ingresses" => Main<crate::networking::ingresses::Ingresses>,
                "ingresses/status" => Status<crate::networking::ingresses::Ingresses>,
                "ipaddresses" => Main<crate::networking::ipaddresses::IPAddresses>,
                "networkpolicies" => Main<crate::networking::networkpolicies::NetworkPolicies>,
                "servicecidrs" => Main<crate::networking::servicecidrs::ServiceCIDRs>,
                "servicecidrs/status" => Status<crate::networking::servicecidrs::ServiceCIDRs>,
            },
            "v1beta1" => {
                "ipaddresses" => Main<crate::networking::ipaddresses::v1beta1::IPAddressesV1beta1>,
                "servicecidrs" => Main<crate::networking::servicecidrs::v1beta1::ServiceCIDRsV1beta1>,
                "servicecidrs/status" => Status<crate::networking::servicecidrs::v1beta1::ServiceCIDRsV1beta1>,
            },
        },
        "policy" => {
            "v1" => {
                "poddisruptionbudgets" => Main<crate::policy::poddisruptionbudgets::PodDisruptionBudgets>,
                "poddisruptionbudgets/status" => Status<crate::policy::poddisruptionbudgets::PodDisruptionBudgets>,
            },
        },
        "rbac.authorization.k8s.io" => {
            "v1" => {
                "clusterrolebindings" => Main<crate::rbac::clusterrolebindings::ClusterRoleBindings>,
                "clusterroles" => Main<crate::rbac::clusterroles::ClusterRoles>,
                "rolebindings" => Main<crate::rbac::rolebindings::RoleBindings>,
                "roles" => Main<crate::rbac::roles::Roles>,
            },
        },
        "storage.k8s.io" => {
            "v1" => {
                "csidrivers" => Main<crate::storage::csidrivers::CSIDrivers>,
                "csinodes" => Main<crate::storage::csinodes::CSINodes>,
                "csistoragecapacities" => Main<crate::storage::csistoragecapacities::CSIStorageCapacities>,
                "storageclasses" => Main<crate::storage::storageclasses::StorageClasses>,
                "volumeattachments" => Main<crate::storage::volumeattachments::VolumeAttachments>,
                "volumeattachments/status" => Status<crate::storage::volumeattachments::VolumeAttachments>,
                "volumeattributesclasses" => Main<crate::storage::volumeattributesclasses::VolumeAttributesClasses>,
            },
            "v1beta1" => {
                "volumeattributesclasses" => Main<crate::storage::volumeattributesclasses::v1beta1::VolumeAttributesClassesV1beta1>,
            },
        },
        "admissionregistration.k8s.io" => {
            "v1" => {
                "mutatingadmissionpolicies" => Main<crate::admissionregistration::mutatingadmissionpolicies::MutatingAdmissionPolicies>,
                "mutatingadmissionpolicybindings" => Main<crate::admissionregistration::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings>,
                "mutatingwebhookconfigurations" => Main<crate::admissionregistration::mutatingwebhookconfigurations::MutatingWebhookConfigurations>,
                "validatingadmissionpolicies" => Main<crate::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies>,
                "validatingadmissionpolicies/status" => Status<crate::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies>,
                "validatingadmissionpolicybindings" => Main<crate::admissionregistration::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings>,
                "validatingwebhookconfigurations" => Main<crate::admissionregistration::validatingwebhookconfigurations::ValidatingWebhookConfigurations>,
            },
            "v1alpha1" => {
                "mutatingadmissionpolicies" => Main<crate::admissionregistration::mutatingadmissionpolicies::v1alpha1::MutatingAdmissionPoliciesV1alpha1>,
                "mutatingadmissionpolicybindings" => Main<crate::admissionregistration::mutatingadmissionpolicybindings::v1alpha1::MutatingAdmissionPolicyBindingsV1alpha1>,
            },
            "v1beta1" => {
                "mutatingadmissionpolicies" => Main<crate::admissionregistration::mutatingadmissionpolicies::v1beta1::MutatingAdmissionPoliciesV1beta1>,
                "mutatingadmissionpolicybindings" => Main<crate::admissionregistration::mutatingadmissionpolicybindings::v1beta1::MutatingAdmissionPolicyBindingsV1beta1>,
            },
        },
        "apiextensions.k8s.io" => {
            "v1" => {
                "customresourcedefinitions" => Main<crate::apiextensions::customresourcedefinitions::CustomResourceDefinitions>,
                "customresourcedefinitions/status" => Status<crate::apiextensions::customresourcedefinitions::CustomResourceDefinitions>,
            },
        },
        "scheduling.k8s.io" => {
            "v1" => {
                "priorityclasses" => Main<crate::scheduling::priorityclasses::PriorityClasses>,
            },
            "v1alpha2" => {
                "podgroups" => Main<crate::scheduling::podgroups::PodGroups>,
                "podgroups/status" => Status<crate::scheduling::podgroups::PodGroups>,
                "workloads" => Main<crate::scheduling::workloads::Workloads>,
            },
        },
        "coordination.k8s.io" => {
            "v1" => {
                "leases" => Main<crate::coordination::leases::Leases>,
            },
            "v1alpha2" => {
                "leasecandidates" => Main<crate::coordination::leasecandidates::v1alpha2::LeaseCandidatesV1alpha2>,
            },
            "v1beta1" => {
                "leasecandidates" => Main<crate::coordination::leasecandidates::LeaseCandidates>,
            },
        },
        "node.k8s.io" => {
            "v1" => {
                "runtimeclasses" => Main<crate::node::runtimeclasses::RuntimeClasses>,
            },
        },
        "discovery.k8s.io" => {
            "v1" => {
                "endpointslices" => Main<crate::discovery::endpointslices::EndpointSlices>,
            },
        },
        "resource.k8s.io" => {
            "v1" => {
                "deviceclasses" => Main<crate::resource::deviceclasses::DeviceClasses>,
                "resourceclaims" => Main<crate::resource::resourceclaims::ResourceClaims>,
                "resourceclaims/status" => Status<crate::resource::resourceclaims::ResourceClaims>,
                "resourceclaimtemplates" => Main<crate::resource::resourceclaimtemplates::ResourceClaimTemplates>,
                "resourceslices" => Main<crate::resource::resourceslices::ResourceSlices>,
            },
            "v1alpha3" => {
                "devicetaintrules" => Main<crate::resource::devicetaintrules::DeviceTaintRules>,
                "devicetaintrules/status" => Status<crate::resource::devicetaintrules::DeviceTaintRules>,
                "resourcepoolstatusrequests" => Main<crate::resource::resourcepoolstatusrequests::ResourcePoolStatusRequests>,
                "resourcepoolstatusrequests/status" => Status<crate::resource::resourcepoolstatusrequests::ResourcePoolStatusRequests>,
            },
            "v1beta1" => {
                "deviceclasses" => Main<crate::resource::deviceclasses::v1beta1::DeviceClassesV1beta1>,
                "resourceclaims" => Main<crate::resource::resourceclaims::v1beta1::ResourceClaimsV1beta1>,
                "resourceclaims/status" => Status<crate::resource::resourceclaims::v1beta1::ResourceClaimsV1beta1>,
                "resourceclaimtemplates" => Main<crate::resource::resourceclaimtemplates::v1beta1::ResourceClaimTemplatesV1beta1>,
                "resourceslices" => Main<crate::resource::resourceslices::v1beta1::ResourceSlicesV1beta1>,
            },
            "v1beta2" => {
                "deviceclasses" => Main<crate::resource::deviceclasses::v1beta2::DeviceClassesV1beta2>,
                "devicetaintrules" => Main<crate::resource::devicetaintrules::v1beta2::DeviceTaintRulesV1beta2>,
                "devicetaintrules/status" => Status<crate::resource::devicetaintrules::v1beta2::DeviceTaintRulesV1beta2>,
                "resourceclaims" => Main<crate::resource::resourceclaims::v1beta2::ResourceClaimsV1beta2>,
                "resourceclaims/status" => Status<crate::resource::resourceclaims::v1beta2::ResourceClaimsV1beta2>,
                "resourceclaimtemplates" => Main<crate::resource::resourceclaimtemplates::v1beta2::ResourceClaimTemplatesV1beta2>,
                "resourceslices" => Main<crate::resource::resourceslices::v1beta2::ResourceSlicesV1beta2>,
            },
        },
        "flowcontrol.apiserver.k8s.io" => {
            "v1" => {
                "flowschemas" => Main<crate::flowcontrol::flowschemas::FlowSchemas>,
                "flowschemas/status" => Status<crate::flowcontrol::flowschemas::FlowSchemas>,
                "prioritylevelconfigurations" => Main<crate::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations>,
                "prioritylevelconfigurations/status" => Status<crate::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations>,
            },
        },
        "internal.apiserver.k8s.io" => {
            "v1alpha1" => {
                "storageversions" => Main<crate::internal::storageversions::StorageVersions>,
                "storageversions/status" => Status<crate::internal::storageversions::StorageVersions>,
            },
        },
        "storagemigration.k8s.io" => {
            "v1beta1" => {
                "storageversionmigrations" => Main<crate::storagemigration::storageversionmigrations::StorageVersionMigrations>,
                "storageversionmigrations/status" => Status<crate::storagemigration::storageversionmigrations::StorageVersionMigrations>,
            },
        },
    };
}
