use registry_core::release::Release;

use super::*;
use crate::options::Options;

fn switched(gates: &str) -> Result<FeatureGates, String> {
    let flag = format!("--feature-gates={gates}");
    let options = Options::from_arguments(["apiserver", &flag]).map_err(|error| error.to_string())?;
    options.validate().map_err(|error| error.to_string())?;
    Ok(options.feature_gates())
}

fn emulated(gates: &str, release: &str) -> Result<FeatureGates, String> {
    let switches = gates.split(',').filter(|switch| !switch.is_empty()).map(str::parse);
    let switches = switches.collect::<Result<Vec<FeatureSwitch>, ValueError>>();
    let switches = switches.map_err(|error| error.to_string())?;
    let gates = FeatureGates::new(&switches, EffectiveReleases::emulating(release.parse().unwrap()));
    gates.check().map_err(|error| error.to_string())?;
    Ok(gates)
}

#[test]
fn every_gate_of_every_release_has_its_default_and_is_switched_only_if_that_has_an_effect() {
    let mut names = Vec::new();
    for gate in Gate::all() {
        let name = gate.name();
        let own = gate.state(BINARY_RELEASE).expect(name);
        for minor in 33..=36 {
            let release = format!("1.{minor}");
            let Some(state) = gate.state(Release::new(1, minor)) else {
                let error = emulated(&format!("{name}=true"), &release).expect_err(name);
                let reason = format!(
                    "cannot set feature gate {name} to true, feature is PreAlpha at emulated version"
                );
                assert!(error.contains(&reason), "{error}");
                continue;
            };
            assert!(emulated(&format!("kube:{name}={}", state.default), &release).is_ok(), "{name}");
            let turned = emulated(&format!("{name}={}", !state.default), &release);
            let feature = Feature::ALL.iter().copied().find(|feature| feature.name() == name);
            match (turned, feature) {
                (Ok(gates), None) if WHOLE_STAGES.iter().any(|(whole, _)| *whole == name) => {
                    assert!(gates.all().any(|(gate, _, enabled)| gate.name() == name && enabled));
                }
                (Err(error), _) if state.is_locked => {
                    let reason = format!("feature is locked to {}", state.default);
                    assert!(error.contains(&reason), "{error}");
                }
                (Ok(gates), Some(feature)) => assert_eq!(gates.is_enabled(feature), !state.default, "{name}"),
                (Ok(_), None) => {
                    let is_known = gate.is_elsewhere() || WITHOUT_EFFECT.contains(&name);
                    assert!(is_known || state.default != own.default, "{name} at {release}");
                }
                (Err(error), None) => {
                    assert!(error.contains(&format!("{name}={}", !state.default)), "{error}");
                    assert!(
                        error.contains("that can be switched are AllowUnsafeMalformedObjectDeletion, "),
                        "{error}"
                    );
                }
                (Err(error), Some(_)) => panic!("{name} at {release}: {error}"),
            }
        }
        names.push(format!("{name}={}", own.default));
    }
    assert!(names.len() > 240 && names.is_sorted(), "{}", names.len());
    assert!(switched(&names.join(",")).is_ok(), "all of them at once");
    for feature in Feature::ALL {
        let gate = Gate::named(feature.name()).unwrap();
        let state = gate.state(BINARY_RELEASE).expect("a state");
        assert_eq!(feature.is_enabled_by_default(), state.default, "{feature:?}");
    }
}

#[test]
fn the_defaults_are_those_of_the_emulated_release() {
    let is_on = |gates: &str, release: &str| {
        emulated(gates, release).map(|gates| gates.is_enabled(Feature::PodTopologyLabelsAdmission))
    };
    for (release, default) in [("1.33", false), ("1.34", false), ("1.35", true), ("1.36", true)] {
        assert_eq!(is_on("", release), Ok(default), "{release}");
        assert_eq!(is_on("PodTopologyLabelsAdmission=true", release), Ok(true), "{release}");
        assert_eq!(is_on("PodTopologyLabelsAdmission=false", release), Ok(false), "{release}");
    }
    assert!(emulated("MultiCIDRServiceAllocator=false", "1.33").is_ok(), "not locked yet");
    let error = emulated("MultiCIDRServiceAllocator=false", "1.34").expect_err("a locked gate");
    assert!(
        error.contains(
            "cannot set feature gate MultiCIDRServiceAllocator to false, feature is locked to true"
        )
    );
}

#[test]
fn switches_are_read_as_go_reads_them() {
    let is_on = |gates: &str| switched(gates).unwrap().is_enabled(Feature::CBORServingAndStorage);
    assert!(is_on(" CBORServingAndStorage = True ") && is_on("CBORServingAndStorage=1,"));
    assert!(!is_on("CBORServingAndStorage=true,,CBORServingAndStorage=F") && !is_on("") && !is_on(","));
    for (gates, reason) in [
        ("Zork=true", "unrecognized feature gate: Zork"),
        ("kubelet:WatchList=true", "unrecognized feature gate: kubelet:WatchList"),
        ("watchlist=true", "unrecognized feature gate"),
        ("=true", "unrecognized feature gate"),
        ("WatchList", "missing bool value for WatchList"),
        ("WatchList=yes", "neither true nor false"),
        ("WatchList=", "neither true nor false"),
        ("AllAlpha=yes", "neither true nor false"),
        ("AllAlpha=true,HPAScaleToZero=true", "HPAScaleToZero=true is not supported"),
        ("AllGA=true", "unrecognized feature gate: AllGA"),
        (
            "BtreeWatchCache=false",
            "cannot set feature gate BtreeWatchCache to false, feature is locked to true",
        ),
    ] {
        let error = switched(gates).expect_err(gates);
        assert!(error.contains(reason), "{gates}: {error}");
    }
}

#[test]
fn all_gates_of_a_stage_are_switched_but_those_that_are_named() {
    use Feature::{
        CBORServingAndStorage as Alpha, ClusterTrustBundle as Off, DynamicResourceAllocation as Stable,
        PodTopologyLabelsAdmission as On,
    };
    let enabled = |gates: &str, release: &str| {
        let gates = emulated(gates, release).expect(gates);
        [Alpha, Off, On, Stable].map(|feature| gates.is_enabled(feature))
    };
    for (gates, expected) in [
        ("AllAlpha=true", [true, false, true, true]),
        ("AllAlpha=false", [false, false, true, true]),
        ("AllBeta=true", [false, true, true, true]),
        ("AllBeta=false", [false, false, false, true]),
        ("kube:AllAlpha=true,AllBeta=true", [true, true, true, true]),
        ("AllAlpha=true,AllBeta=false", [true, false, false, true]),
        ("AllAlpha=true,CBORServingAndStorage=false", [false, false, true, true]),
        ("CBORServingAndStorage=false,AllAlpha=true", [false, false, true, true]),
        ("ClusterTrustBundle=true,AllBeta=false", [false, true, false, true]),
        ("AllBeta=false,ClusterTrustBundle=true", [false, true, false, true]),
        ("AllBeta=true,AllBeta=false", [false, false, false, true]),
        ("AllBeta=false,AllBeta=true", [false, true, true, true]),
    ] {
        assert_eq!(enabled(gates, "1.36"), expected, "{gates}");
    }
    assert_eq!(enabled("AllAlpha=true", "1.33"), [true, false, true, false], "topology labels were alpha");
    assert_eq!(enabled("AllBeta=true", "1.33"), [false, true, false, true], "devices were beta");
}

#[test]
fn gates_that_cannot_be_switched_keep_their_value_when_all_of_their_stage_are() {
    let gates = emulated("AllAlpha=true,AllBeta=false", "1.36").expect("gates");
    let is_on = |name: &str| {
        let found = gates.all().find(|(gate, ..)| gate.name() == name);
        found.is_some_and(|(.., enabled)| enabled)
    };
    assert!(!is_on("HPAScaleToZero") && is_on("ConstrainedImpersonation"), "their defaults");
    assert!(is_on("AllAlpha") && !is_on("AllBeta"));
    let kept = |name: &str| gates.kept(gates.switch_of(Gate::named(name).unwrap()).unwrap());
    assert!(
        kept("AllAlpha").contains(&"HPAScaleToZero") && !kept("AllAlpha").contains(&"CBORServingAndStorage")
    );
    assert!(kept("AllBeta").contains(&"ConstrainedImpersonation"));
    assert!(!kept("AllBeta").contains(&"AllBeta") && !kept("AllBeta").contains(&"HPAScaleToZero"));
    let named = emulated("AllAlpha=true,HPAScaleToZero=false", "1.36").expect("gates");
    let all = named.switch_of(Gate::named("AllAlpha").unwrap()).unwrap();
    assert!(!named.kept(all).contains(&"HPAScaleToZero"), "it was asked for");
}
