// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! Every path of this crate: group → version → path → storage.

use registry_core::registry::storage_map::{Custom, Main, Scale, Status, Virtual};

registry_core::storage_map! {
    /// Every path of this crate.
    pub static STORAGE_MAP = {
        "" => {
            "v1" => {
                "bindings" => Virtual<crate::api::core::bindings::Bindings>,
                "componentstatuses" => Virtual<crate::api::core::componentstatuses::ComponentStatuses>,
                "configmaps" => Main<crate::api::core::configmaps::ConfigMaps>,
                "endpoints" => Main<crate::api::core::endpoints::Endpoints>,
                "events" => Main<crate::api::core::events::Events>,
                "limitranges" => Main<crate::api::core::limitranges::LimitRanges>,
                "namespaces" => Main<crate::api::core::namespaces::Namespaces>,
                "namespaces/finalize" => Custom<crate::api::core::namespaces::finalize::Finalize>,
                "namespaces/status" => Status<crate::api::core::namespaces::Namespaces>,
                "nodes" => Main<crate::api::core::nodes::Nodes>,
                "nodes/proxy" => Custom<crate::api::core::nodes::proxy::NodeProxy>,
                "nodes/status" => Status<crate::api::core::nodes::Nodes>,
                "persistentvolumeclaims" => Main<crate::api::core::persistentvolumeclaims::PersistentVolumeClaims>,
                "persistentvolumeclaims/status" => Status<crate::api::core::persistentvolumeclaims::PersistentVolumeClaims>,
                "persistentvolumes" => Main<crate::api::core::persistentvolumes::PersistentVolumes>,
                "persistentvolumes/status" => Status<crate::api::core::persistentvolumes::PersistentVolumes>,
                "pods" => Main<crate::api::core::pods::Pods>,
                "pods/attach" => Custom<crate::api::core::pods::connect::stream::Attach>,
                "pods/binding" => Custom<crate::api::core::pods::binding::PodBinding>,
                "pods/ephemeralcontainers" => Custom<crate::api::core::pods::ephemeral_containers::EphemeralContainers>,
                "pods/eviction" => Custom<crate::api::core::pods::eviction::PodEviction>,
                "pods/exec" => Custom<crate::api::core::pods::connect::stream::Exec>,
                "pods/log" => Custom<crate::api::core::pods::connect::log::Log>,
                "pods/portforward" => Custom<crate::api::core::pods::connect::stream::PortForward>,
                "pods/proxy" => Custom<crate::api::core::pods::connect::proxy::PodProxy>,
                "pods/resize" => Custom<crate::api::core::pods::resize::Resize>,
                "pods/status" => Status<crate::api::core::pods::Pods>,
                "podtemplates" => Main<crate::api::core::podtemplates::PodTemplates>,
                "replicationcontrollers" => Main<crate::api::core::replicationcontrollers::ReplicationControllers>,
                "replicationcontrollers/scale" => Scale<crate::api::core::replicationcontrollers::ReplicationControllers>,
                "replicationcontrollers/status" => Status<crate::api::core::replicationcontrollers::ReplicationControllers>,
                "resourcequotas" => Main<crate::api::core::resourcequotas::ResourceQuotas>,
                "resourcequotas/status" => Status<crate::api::core::resourcequotas::ResourceQuotas>,
                "secrets" => Main<crate::api::core::secrets::Secrets>,
                "serviceaccounts" => Main<crate::api::core::serviceaccounts::ServiceAccounts>,
                "serviceaccounts/token" => Custom<crate::api::core::serviceaccounts::token::Token>,
                "services" => Main<crate::api::core::services::Services>,
                "services/proxy" => Custom<crate::api::core::services::proxy::ServiceProxy>,
                "services/status" => Status<crate::api::core::services::Services>,
            },
        },
        "apiregistration.k8s.io" => {
            "v1" => {
                "apiservices" => Main<crate::api::apiregistration::apiservices::APIServices>,
                "apiservices/status" => Status<crate::api::apiregistration::apiservices::APIServices>,
            },
        },
        "apps" => {
            "v1" => {
                "controllerrevisions" => Main<crate::api::apps::controllerrevisions::ControllerRevisions>,
                "daemonsets" => Main<crate::api::apps::daemonsets::DaemonSets>,
                "daemonsets/status" => Status<crate::api::apps::daemonsets::DaemonSets>,
                "deployments" => Main<crate::api::apps::deployments::Deployments>,
                "deployments/scale" => Scale<crate::api::apps::deployments::Deployments>,
                "deployments/status" => Status<crate::api::apps::deployments::Deployments>,
                "replicasets" => Main<crate::api::apps::replicasets::ReplicaSets>,
                "replicasets/scale" => Scale<crate::api::apps::replicasets::ReplicaSets>,
                "replicasets/status" => Status<crate::api::apps::replicasets::ReplicaSets>,
                "statefulsets" => Main<crate::api::apps::statefulsets::StatefulSets>,
                "statefulsets/scale" => Scale<crate::api::apps::statefulsets::StatefulSets>,
                "statefulsets/status" => Status<crate::api::apps::statefulsets::StatefulSets>,
            },
        },
        "events.k8s.io" => {
            "v1" => {
                "events" => Main<crate::api::events::events_v1::EventsV1>,
            },
        },
        "authentication.k8s.io" => {
            "v1" => {
                "selfsubjectreviews" => Virtual<crate::api::authentication::selfsubjectreviews::SelfSubjectReviews>,
                "tokenreviews" => Virtual<crate::api::authentication::tokenreviews::TokenReviews>,
            },
        },
        "authorization.k8s.io" => {
            "v1" => {
                "localsubjectaccessreviews" => Virtual<crate::api::authorization::localsubjectaccessreviews::LocalSubjectAccessReviews>,
                "selfsubjectaccessreviews" => Virtual<crate::api::authorization::selfsubjectaccessreviews::SelfSubjectAccessReviews>,
                "selfsubjectrulesreviews" => Virtual<crate::api::authorization::selfsubjectrulesreviews::SelfSubjectRulesReviews>,
                "subjectaccessreviews" => Virtual<crate::api::authorization::subjectaccessreviews::SubjectAccessReviews>,
            },
        },
        "autoscaling" => {
            "v1" => {
                "horizontalpodautoscalers" => Main<crate::api::autoscaling::horizontalpodautoscalers_v1::HorizontalPodAutoscalersV1>,
                "horizontalpodautoscalers/status" => Status<crate::api::autoscaling::horizontalpodautoscalers_v1::HorizontalPodAutoscalersV1>,
            },
            "v2" => {
                "horizontalpodautoscalers" => Main<crate::api::autoscaling::horizontalpodautoscalers_v2::HorizontalPodAutoscalers>,
                "horizontalpodautoscalers/status" => Status<crate::api::autoscaling::horizontalpodautoscalers_v2::HorizontalPodAutoscalers>,
            },
        },
        "batch" => {
            "v1" => {
                "cronjobs" => Main<crate::api::batch::cronjobs::CronJobs>,
                "cronjobs/status" => Status<crate::api::batch::cronjobs::CronJobs>,
                "jobs" => Main<crate::api::batch::jobs::Jobs>,
                "jobs/status" => Status<crate::api::batch::jobs::Jobs>,
            },
        },
        "certificates.k8s.io" => {
            "v1" => {
                "certificatesigningrequests" => Main<crate::api::certificates::certificatesigningrequests::CertificateSigningRequests>,
                "certificatesigningrequests/approval" => Custom<crate::api::certificates::certificatesigningrequests::approval::Approval>,
                "certificatesigningrequests/status" => Status<crate::api::certificates::certificatesigningrequests::CertificateSigningRequests>,
            },
            "v1alpha1" => {
                "clustertrustbundles" => Main<crate::api::certificates::clustertrustbundles::v1alpha1::ClusterTrustBundlesV1alpha1>,
            },
            "v1beta1" => {
                "clustertrustbundles" => Main<crate::api::certificates::clustertrustbundles::ClusterTrustBundles>,
                "podcertificaterequests" => Main<crate::api::certificates::podcertificaterequests::PodCertificateRequests>,
                "podcertificaterequests/status" => Status<crate::api::certificates::podcertificaterequests::PodCertificateRequests>,
            },
        },
        "networking.k8s.io" => {
            "v1" => {
                "ingressclasses" => Main<crate::api::networking::ingressclasses::IngressClasses>,
                "ingresses" => Main<crate::api::networking::ingresses::Ingresses>,
                "ingresses/status" => Status<crate::api::networking::ingresses::Ingresses>,
                "ipaddresses" => Main<crate::api::networking::ipaddresses::IPAddresses>,
                "networkpolicies" => Main<crate::api::networking::networkpolicies::NetworkPolicies>,
                "servicecidrs" => Main<crate::api::networking::servicecidrs::ServiceCIDRs>,
                "servicecidrs/status" => Status<crate::api::networking::servicecidrs::ServiceCIDRs>,
            },
            "v1beta1" => {
                "ipaddresses" => Main<crate::api::networking::ipaddresses::v1beta1::IPAddressesV1beta1>,
                "servicecidrs" => Main<crate::api::networking::servicecidrs::v1beta1::ServiceCIDRsV1beta1>,
                "servicecidrs/status" => Status<crate::api::networking::servicecidrs::v1beta1::ServiceCIDRsV1beta1>,
            },
        },
        "policy" => {
            "v1" => {
                "poddisruptionbudgets" => Main<crate::api::policy::poddisruptionbudgets::PodDisruptionBudgets>,
                "poddisruptionbudgets/status" => Status<crate::api::policy::poddisruptionbudgets::PodDisruptionBudgets>,
            },
        },
        "rbac.authorization.k8s.io" => {
            "v1" => {
                "clusterrolebindings" => Main<crate::api::rbac::clusterrolebindings::ClusterRoleBindings>,
                "clusterroles" => Main<crate::api::rbac::clusterroles::ClusterRoles>,
                "rolebindings" => Main<crate::api::rbac::rolebindings::RoleBindings>,
                "roles" => Main<crate::api::rbac::roles::Roles>,
            },
        },
        "storage.k8s.io" => {
            "v1" => {
                "csidrivers" => Main<crate::api::storage::csidrivers::CSIDrivers>,
                "csinodes" => Main<crate::api::storage::csinodes::CSINodes>,
                "csistoragecapacities" => Main<crate::api::storage::csistoragecapacities::CSIStorageCapacities>,
                "storageclasses" => Main<crate::api::storage::storageclasses::StorageClasses>,
                "volumeattachments" => Main<crate::api::storage::volumeattachments::VolumeAttachments>,
                "volumeattachments/status" => Status<crate::api::storage::volumeattachments::VolumeAttachments>,
                "volumeattributesclasses" => Main<crate::api::storage::volumeattributesclasses::VolumeAttributesClasses>,
            },
            "v1beta1" => {
                "volumeattributesclasses" => Main<crate::api::storage::volumeattributesclasses::v1beta1::VolumeAttributesClassesV1beta1>,
            },
        },
        "admissionregistration.k8s.io" => {
            "v1" => {
                "mutatingadmissionpolicies" => Main<crate::api::admissionregistration::mutatingadmissionpolicies::MutatingAdmissionPolicies>,
                "mutatingadmissionpolicybindings" => Main<crate::api::admissionregistration::mutatingadmissionpolicybindings::MutatingAdmissionPolicyBindings>,
                "mutatingwebhookconfigurations" => Main<crate::api::admissionregistration::mutatingwebhookconfigurations::MutatingWebhookConfigurations>,
                "validatingadmissionpolicies" => Main<crate::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies>,
                "validatingadmissionpolicies/status" => Status<crate::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies>,
                "validatingadmissionpolicybindings" => Main<crate::api::admissionregistration::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings>,
                "validatingwebhookconfigurations" => Main<crate::api::admissionregistration::validatingwebhookconfigurations::ValidatingWebhookConfigurations>,
            },
            "v1alpha1" => {
                "mutatingadmissionpolicies" => Main<crate::api::admissionregistration::mutatingadmissionpolicies::v1alpha1::MutatingAdmissionPoliciesV1alpha1>,
                "mutatingadmissionpolicybindings" => Main<crate::api::admissionregistration::mutatingadmissionpolicybindings::v1alpha1::MutatingAdmissionPolicyBindingsV1alpha1>,
            },
            "v1beta1" => {
                "mutatingadmissionpolicies" => Main<crate::api::admissionregistration::mutatingadmissionpolicies::v1beta1::MutatingAdmissionPoliciesV1beta1>,
                "mutatingadmissionpolicybindings" => Main<crate::api::admissionregistration::mutatingadmissionpolicybindings::v1beta1::MutatingAdmissionPolicyBindingsV1beta1>,
                "validatingadmissionpolicies" => Main<crate::api::admissionregistration::validatingadmissionpolicies::v1beta1::ValidatingAdmissionPoliciesV1beta1>,
                "validatingadmissionpolicies/status" => Status<crate::api::admissionregistration::validatingadmissionpolicies::v1beta1::ValidatingAdmissionPoliciesV1beta1>,
                "validatingadmissionpolicybindings" => Main<crate::api::admissionregistration::validatingadmissionpolicybindings::v1beta1::ValidatingAdmissionPolicyBindingsV1beta1>,
            },
        },
        "apiextensions.k8s.io" => {
            "v1" => {
                "customresourcedefinitions" => Main<crate::api::apiextensions::customresourcedefinitions::CustomResourceDefinitions>,
                "customresourcedefinitions/status" => Status<crate::api::apiextensions::customresourcedefinitions::CustomResourceDefinitions>,
            },
        },
        "scheduling.k8s.io" => {
            "v1" => {
                "priorityclasses" => Main<crate::api::scheduling::priorityclasses::PriorityClasses>,
            },
            "v1alpha2" => {
                "podgroups" => Main<crate::api::scheduling::podgroups::PodGroups>,
                "podgroups/status" => Status<crate::api::scheduling::podgroups::PodGroups>,
                "workloads" => Main<crate::api::scheduling::workloads::Workloads>,
            },
        },
        "coordination.k8s.io" => {
            "v1" => {
                "leases" => Main<crate::api::coordination::leases::Leases>,
            },
            "v1alpha2" => {
                "leasecandidates" => Main<crate::api::coordination::leasecandidates::v1alpha2::LeaseCandidatesV1alpha2>,
            },
            "v1beta1" => {
                "leasecandidates" => Main<crate::api::coordination::leasecandidates::LeaseCandidates>,
            },
        },
        "node.k8s.io" => {
            "v1" => {
                "runtimeclasses" => Main<crate::api::node::runtimeclasses::RuntimeClasses>,
            },
        },
        "discovery.k8s.io" => {
            "v1" => {
                "endpointslices" => Main<crate::api::discovery::endpointslices::EndpointSlices>,
            },
        },
        "resource.k8s.io" => {
            "v1" => {
                "deviceclasses" => Main<crate::api::resource::deviceclasses::DeviceClasses>,
                "resourceclaims" => Main<crate::api::resource::resourceclaims::ResourceClaims>,
                "resourceclaims/status" => Status<crate::api::resource::resourceclaims::ResourceClaims>,
                "resourceclaimtemplates" => Main<crate::api::resource::resourceclaimtemplates::ResourceClaimTemplates>,
                "resourceslices" => Main<crate::api::resource::resourceslices::ResourceSlices>,
            },
            "v1alpha3" => {
                "devicetaintrules" => Main<crate::api::resource::devicetaintrules::DeviceTaintRules>,
                "devicetaintrules/status" => Status<crate::api::resource::devicetaintrules::DeviceTaintRules>,
                "resourcepoolstatusrequests" => Main<crate::api::resource::resourcepoolstatusrequests::ResourcePoolStatusRequests>,
                "resourcepoolstatusrequests/status" => Status<crate::api::resource::resourcepoolstatusrequests::ResourcePoolStatusRequests>,
            },
            "v1beta1" => {
                "deviceclasses" => Main<crate::api::resource::deviceclasses::v1beta1::DeviceClassesV1beta1>,
                "resourceclaims" => Main<crate::api::resource::resourceclaims::v1beta1::ResourceClaimsV1beta1>,
                "resourceclaims/status" => Status<crate::api::resource::resourceclaims::v1beta1::ResourceClaimsV1beta1>,
                "resourceclaimtemplates" => Main<crate::api::resource::resourceclaimtemplates::v1beta1::ResourceClaimTemplatesV1beta1>,
                "resourceslices" => Main<crate::api::resource::resourceslices::v1beta1::ResourceSlicesV1beta1>,
            },
            "v1beta2" => {
                "deviceclasses" => Main<crate::api::resource::deviceclasses::v1beta2::DeviceClassesV1beta2>,
                "devicetaintrules" => Main<crate::api::resource::devicetaintrules::v1beta2::DeviceTaintRulesV1beta2>,
                "devicetaintrules/status" => Status<crate::api::resource::devicetaintrules::v1beta2::DeviceTaintRulesV1beta2>,
                "resourceclaims" => Main<crate::api::resource::resourceclaims::v1beta2::ResourceClaimsV1beta2>,
                "resourceclaims/status" => Status<crate::api::resource::resourceclaims::v1beta2::ResourceClaimsV1beta2>,
                "resourceclaimtemplates" => Main<crate::api::resource::resourceclaimtemplates::v1beta2::ResourceClaimTemplatesV1beta2>,
                "resourceslices" => Main<crate::api::resource::resourceslices::v1beta2::ResourceSlicesV1beta2>,
            },
        },
        "flowcontrol.apiserver.k8s.io" => {
            "v1" => {
                "flowschemas" => Main<crate::api::flowcontrol::flowschemas::FlowSchemas>,
                "flowschemas/status" => Status<crate::api::flowcontrol::flowschemas::FlowSchemas>,
                "prioritylevelconfigurations" => Main<crate::api::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations>,
                "prioritylevelconfigurations/status" => Status<crate::api::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations>,
            },
        },
        "internal.apiserver.k8s.io" => {
            "v1alpha1" => {
                "storageversions" => Main<crate::api::internal::storageversions::StorageVersions>,
                "storageversions/status" => Status<crate::api::internal::storageversions::StorageVersions>,
            },
        },
        "storagemigration.k8s.io" => {
            "v1beta1" => {
                "storageversionmigrations" => Main<crate::api::storagemigration::storageversionmigrations::StorageVersionMigrations>,
                "storageversionmigrations/status" => Status<crate::api::storagemigration::storageversionmigrations::StorageVersionMigrations>,
            },
        },
    };
}
