//! Structs with the fields of others, for rules that all of them have.

use std::ops::Deref;

use crate::admissionregistration::v1::{
    MatchCondition, MatchResources, MutatingAdmissionPolicyBindingSpec, MutatingAdmissionPolicySpec,
    MutatingWebhook, NamedRuleWithOperations, ParamKind, RuleWithOperations,
    ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec, ValidatingWebhook, Variable,
};
use crate::authorization::v1::{FieldSelectorAttributes, LabelSelectorAttributes};
use crate::core::v1::{
    AppArmorProfile, AzureFilePersistentVolumeSource, AzureFileVolumeSource, Container, ContainerMut,
    EphemeralContainer, EphemeralContainerMut, GlusterfsPersistentVolumeSource, GlusterfsVolumeSource,
    PodAffinity, PodAntiAffinity, PodSecurityContext, SELinuxOptions, SeccompProfile, SecurityContext,
    TypedLocalObjectReference, TypedObjectReference, WindowsSecurityContextOptions,
};
use crate::discovery::v1::{ForNode, ForZone};
use crate::flowcontrol::v1::{FlowSchemaCondition, PriorityLevelConfigurationCondition};
use crate::networking::v1::IngressClassParametersReference;
use crate::resource::v1::{
    AllocatedDeviceStatus, CapacityRequirements, DeviceAllocationConfiguration, DeviceClaimConfiguration,
    DeviceClassConfiguration, DeviceRequestAllocationResult, DeviceSelector, DeviceSubRequest,
    DeviceToleration, ExactDeviceRequest,
};
use crate::scalars::{Boolean, Integer, Text};
use crate::several::List;
use crate::view::{Typed, View};

/// Declares that a struct can be read as another, because it has all fields of that one.
macro_rules! alike {
    ($($has_all:ident => $other:ident;)*) => {
        $(
            impl<'v, 'p> From<$has_all<'v, 'p>> for $other<'v, 'p> {
                fn from(view: $has_all<'v, 'p>) -> Self {
                    Self::typed(*view)
                }
            }
        )*
    };
}

alike! {
    AzureFilePersistentVolumeSource => AzureFileVolumeSource;
    DeviceAllocationConfiguration => DeviceClassConfiguration;
    DeviceClaimConfiguration => DeviceClassConfiguration;
    EphemeralContainer => Container;
    FieldSelectorAttributes => LabelSelectorAttributes;
    ForNode => ForZone;
    GlusterfsPersistentVolumeSource => GlusterfsVolumeSource;
    IngressClassParametersReference => TypedLocalObjectReference;
    NamedRuleWithOperations => RuleWithOperations;
    PodAntiAffinity => PodAffinity;
    PriorityLevelConfigurationCondition => FlowSchemaCondition;
    TypedObjectReference => TypedLocalObjectReference;
    ValidatingAdmissionPolicyBindingSpec => MutatingAdmissionPolicyBindingSpec;
    // It lacks the reinvocation policy, which is optional, so that it is read as one without.
    ValidatingWebhook => MutatingWebhook;
}

impl<'m> From<EphemeralContainerMut<'m>> for ContainerMut<'m> {
    fn from(container: EphemeralContainerMut<'m>) -> Self {
        Self(container.0)
    }
}

/// Declares the view of the fields that two structs have in common. A field that one of them lacks does not compile.
macro_rules! common {
    ($($(#[$document:meta])* $name:ident: $first:ident, $second:ident { $($field:ident: $ty:ty;)* })*) => {
        $(
            $(#[$document])*
            #[derive(Clone, Copy)]
            pub struct $name<'v, 'p>($first<'v, 'p>);

            impl<'v, 'p> Deref for $name<'v, 'p> {
                type Target = View<'v, 'p>;

                fn deref(&self) -> &View<'v, 'p> {
                    &self.0
                }
            }

            impl<'v, 'p> Typed<'v, 'p> for $name<'v, 'p> {
                fn typed(view: View<'v, 'p>) -> Self {
                    Self(Typed::typed(view))
                }
            }

            impl<'v, 'p> From<$first<'v, 'p>> for $name<'v, 'p> {
                fn from(view: $first<'v, 'p>) -> Self {
                    Self(view)
                }
            }

            impl<'v, 'p> From<$second<'v, 'p>> for $name<'v, 'p> {
                fn from(view: $second<'v, 'p>) -> Self {
                    $(let _: fn(&'p $second<'v, 'p>) -> $ty = $second::$field;)*
                    Self::typed(*view)
                }
            }

            impl<'v, 'p> $name<'v, 'p> {
                $(
                    #[doc = concat!("Returns the field `", stringify!($field), "`.")]
                    pub fn $field(&'p self) -> $ty {
                        self.0.$field()
                    }
                )*
            }
        )*
    };
}

common! {
    /// The fields that the security contexts of pods and of containers have in common.
    AnySecurityContext: SecurityContext, PodSecurityContext {
        app_armor_profile: AppArmorProfile<'v, 'p>;
        run_as_non_root: Boolean<'v, 'p>;
        run_as_user: Integer<'v, 'p>;
        se_linux_options: SELinuxOptions<'v, 'p>;
        seccomp_profile: SeccompProfile<'v, 'p>;
        windows_options: WindowsSecurityContextOptions<'v, 'p>;
    }

    /// The fields that the specs of validating and of mutating admission policies have in common.
    AnyAdmissionPolicySpec: ValidatingAdmissionPolicySpec, MutatingAdmissionPolicySpec {
        failure_policy: Text<'v, 'p>;
        match_conditions: List<MatchCondition<'v, 'p>>;
        match_constraints: MatchResources<'v, 'p>;
        param_kind: ParamKind<'v, 'p>;
        variables: List<Variable<'v, 'p>>;
    }

    /// The fields that requests for devices and their alternatives have in common.
    AnyDeviceRequest: ExactDeviceRequest, DeviceSubRequest {
        allocation_mode: Text<'v, 'p>;
        capacity: CapacityRequirements<'v, 'p>;
        count: Integer<'v, 'p>;
        device_class_name: Text<'v, 'p>;
        selectors: List<DeviceSelector<'v, 'p>>;
        tolerations: List<DeviceToleration<'v, 'p>>;
    }

    /// The fields that identify an allocated device, in the allocation and in the device's status.
    AnyAllocatedDevice: DeviceRequestAllocationResult, AllocatedDeviceStatus {
        device: Text<'v, 'p>;
        driver: Text<'v, 'p>;
        pool: Text<'v, 'p>;
        share_id: Text<'v, 'p>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_can_be_read_as_those_of_structs_alike() {
        let value = json!([{"name": "a"}]);
        let nodes = List::<ForNode<'_, '_>>::typed(View::root(&value));
        let zones: List<ForZone<'_, '_>> = nodes.seen_as();
        assert_eq!(zones.elements().map(|zone| zone.name().text()).collect::<Vec<_>>(), ["a"]);
        let value = json!({"runAsUser": 5});
        let pod = PodSecurityContext::typed(View::root(&value));
        assert_eq!(AnySecurityContext::from(pod).run_as_user().integer(), Some(5));
    }
}
