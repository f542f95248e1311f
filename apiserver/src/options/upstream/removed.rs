//! Flags that kube-apiserver had in former releases. They are refused as any unknown flag is, with the release that removed
//! them and what to use instead: the flags with similar names have other meanings.

/// A flag of a former release.
struct Removed {
    name: &'static str,
    /// The first release without it, if that is known.
    release: Option<&'static str>,
    instead: &'static str,
}

const fn removed(name: &'static str, release: &'static str, instead: &'static str) -> Removed {
    Removed { name, release: Some(release), instead }
}

const fn gone(name: &'static str, instead: &'static str) -> Removed {
    Removed { name, release: None, instead }
}

const LEAVE_OUT: &str = "leave it out";
const NO_CLOUD: &str = "leave it out, and run a cloud-controller-manager where one is needed";
const NO_INSECURE_PORT: &str =
    "leave it out: all clients use --bind-address and --secure-port, with TLS and credentials";
const STDERR: &str = "leave it out: the log goes to stderr, and --logging-format is its format";
const LOG_FILE: &str = "leave it out, and redirect stderr to a file";
const KUBELET_PORT: &str = "leave it out: the status of a node names the port of its kubelet";
const NO_TUNNELS: &str = "use --egress-selector-config-file to reach nodes through a proxy";

/// The flags, in alphabetical order.
const FLAGS: &[Removed] = &[
    removed("add-dir-header", "1.26", LEAVE_OUT),
    removed("address", "1.24", NO_INSECURE_PORT),
    removed("alsologtostderr", "1.26", STDERR),
    gone("authorization-rbac-super-user", "use a client certificate or a token of the group system:masters"),
    removed("basic-auth-file", "1.19", "use --token-auth-file, client certificates or --oidc-issuer-url"),
    removed("cloud-config", "1.33", NO_CLOUD),
    removed("cloud-provider", "1.33", NO_CLOUD),
    gone("default-watch-cache-size", "leave it out: --watch-cache-sizes has the sizes of single resources"),
    removed("deserialization-cache-size", "1.24", LEAVE_OUT),
    gone("enable-inflight-quota-handler", "use --enable-priority-and-fairness"),
    gone("enable-swagger-ui", "leave it out: /openapi/v2 and /openapi/v3 describe the API"),
    gone("etcd-config", "use --etcd-servers, --etcd-cafile, --etcd-certfile and --etcd-keyfile"),
    removed("etcd-quorum-read", "1.13", "leave it out: reads from etcd always ask a quorum"),
    gone("experimental-bootstrap-token-auth", "use --enable-bootstrap-token-auth"),
    removed("experimental-encryption-provider-config", "1.24", "use --encryption-provider-config"),
    gone("experimental-keystone-ca-file", "use --authentication-token-webhook-config-file"),
    gone("experimental-keystone-url", "use --authentication-token-webhook-config-file"),
    removed("experimental-logging-sanitization", "1.24", LEAVE_OUT),
    gone("insecure-allow-any-token", "use --token-auth-file"),
    removed("insecure-bind-address", "1.24", NO_INSECURE_PORT),
    removed("insecure-port", "1.24", NO_INSECURE_PORT),
    removed("kubelet-https", "1.22", "leave it out: kubelets are always connected to with TLS"),
    gone("kubelet-port", KUBELET_PORT),
    gone("kubelet-read-only-port", KUBELET_PORT),
    removed("log-backtrace-at", "1.26", LEAVE_OUT),
    removed("log-dir", "1.26", LOG_FILE),
    removed("log-file", "1.26", LOG_FILE),
    removed("log-file-max-size", "1.26", LOG_FILE),
    removed("logtostderr", "1.26", STDERR),
    gone("long-running-request-regexp", LEAVE_OUT),
    removed("master-service-namespace", "1.27", LEAVE_OUT),
    removed("one-output", "1.26", LEAVE_OUT),
    removed("port", "1.24", NO_INSECURE_PORT),
    gone("portal-net", "use --service-cluster-ip-range"),
    removed("public-address-override", "1.10", "use --bind-address, or --advertise-address"),
    removed("repair-malformed-updates", "1.14", LEAVE_OUT),
    removed("service-account-api-audiences", "1.25", "use --api-audiences"),
    gone("service-node-ports", "use --service-node-port-range"),
    removed("skip-headers", "1.26", LEAVE_OUT),
    removed("skip-log-headers", "1.26", LEAVE_OUT),
    gone("ssh-keyfile", NO_TUNNELS),
    gone("ssh-user", NO_TUNNELS),
    removed("stderrthreshold", "1.26", STDERR),
    removed("storage-versions", "1.14", LEAVE_OUT),
    removed(
        "target-ram-mb",
        "1.24",
        "leave it out: --watch-cache-sizes and --max-requests-inflight bound the memory",
    ),
    gone("tls-ca-file", "use --client-ca-file for the authority of clients"),
];

/// Returns the text about a flag of a former release.
pub(in crate::options) fn removal_text(name: &str) -> Option<String> {
    let Removed { name, release, instead } = FLAGS.iter().find(|flag| flag.name == name)?;
    Some(match release {
        Some(release) => {
            format!("--{name} was removed from kube-apiserver in Kubernetes {release}; {instead}")
        }
        None => format!("--{name} was removed from kube-apiserver in a former release; {instead}"),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::KUBERNETES_FLAGS;
    use super::*;
    use crate::options::Options;

    #[test]
    fn removed_flags_are_those_that_nobody_knows_in_alphabetical_order() {
        let command = Options::command();
        let names: Vec<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        for name in names {
            assert!(!KUBERNETES_FLAGS.lines().any(|flag| flag == name), "{name} is a flag of kube-apiserver");
            assert!(
                !command.get_arguments().any(|flag| flag.get_long() == Some(name)),
                "{name} is implemented"
            );
        }
    }

    #[test]
    fn the_flags_that_are_named_instead_exist() {
        let command = Options::command();
        for Removed { name, instead, .. } in FLAGS {
            let named = instead.split([' ', ',', ':']).filter_map(|word| word.strip_prefix("--"));
            for flag in named {
                let is_known = command.get_arguments().any(|known| known.get_long() == Some(flag));
                assert!(is_known, "{name}: there is no --{flag}");
            }
        }
    }

    #[test]
    fn the_text_has_the_release_if_it_is_known() {
        let text = "--etcd-quorum-read was removed from kube-apiserver in Kubernetes 1.13; leave it out: ";
        assert!(removal_text("etcd-quorum-read").unwrap().starts_with(text));
        let text = "--portal-net was removed from kube-apiserver in a former release; use --service-cluster-ip-range";
        assert_eq!(removal_text("portal-net").as_deref(), Some(text));
        assert_eq!(removal_text("secure-port"), None);
        assert_eq!(removal_text(""), None);
    }
}
