//! The keys of holders: the names under which users and addresses take their shares.

use std::net::{IpAddr, Ipv6Addr};

use registry_core::context::ServiceAccountName;

const SYSTEM_NAMESPACE: &str = "kube-system";

/// Returns the name under which a user takes places. All service accounts of a namespace share one, because a
/// user who can create service accounts could otherwise multiply their share; those of `kube-system` are
/// controllers, and each is a separate user.
pub(crate) fn holder_of(user: &str) -> &str {
    match ServiceAccountName::from_user(user) {
        Some(account) if account.namespace != SYSTEM_NAMESPACE => {
            user.strip_suffix(account.name).unwrap_or(user)
        }
        _ => user,
    }
}

/// Returns the key of an origin: an IPv4 address, or the network of an IPv6 address, because a host usually
/// has a whole one.
pub(crate) fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_of_a_namespace_are_one_holder() {
        for (user, holder) in [
            ("alice", "alice"),
            ("system:serviceaccount:team:one", "system:serviceaccount:team:"),
            ("system:serviceaccount:team:two", "system:serviceaccount:team:"),
            (
                "system:serviceaccount:kube-system:job-controller",
                "system:serviceaccount:kube-system:job-controller",
            ),
            ("system:node:n1", "system:node:n1"),
        ] {
            assert_eq!(holder_of(user), holder);
        }
    }

    #[test]
    fn a_host_is_one_origin() {
        let of = |text: &str| origin(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.1"), "192.0.2.1");
        assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }
}
