//! The user that a service account is.

use crate::api::validation::names;

use super::{AUTHENTICATED, UserInfo};

const USER_PREFIX: &str = "system:serviceaccount:";
/// The group of all service accounts; with a colon and a namespace behind it, the group of those of a namespace.
const GROUP: &str = "system:serviceaccounts";

/// The namespace and the name of a service account.
///
/// Kubernetes concept: `k8s.io/apiserver/pkg/authentication/serviceaccount`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceAccountName<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The name in the namespace.
    pub name: &'a str,
}

// === impl ServiceAccountName ===

impl<'a> ServiceAccountName<'a> {
    /// Reads the name of a user. Returns `None` for an ordinary user, which one is too whose name no service account
    /// can have.
    pub fn from_user(user: &'a str) -> Option<Self> {
        let (namespace, name) = user.strip_prefix(USER_PREFIX)?.split_once(':')?;
        let is_valid = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
        is_valid.then_some(Self { namespace, name })
    }

    /// Returns the name of the user.
    pub fn user_name(self) -> String {
        format!("{USER_PREFIX}{}:{}", self.namespace, self.name)
    }

    /// Returns the groups that follow from the name.
    pub fn groups(self) -> Vec<String> {
        vec![GROUP.to_owned(), format!("{GROUP}:{}", self.namespace)]
    }

    /// Returns the user, authenticated, with all groups.
    pub fn user(self) -> UserInfo {
        let mut groups = self.groups();
        groups.push(AUTHENTICATED.to_owned());
        UserInfo { name: self.user_name(), groups, ..UserInfo::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_possible_accounts_are_those_of_service_accounts() {
        let account = ServiceAccountName { namespace: "team", name: "robot.one" };
        assert_eq!(ServiceAccountName::from_user(&account.user_name()), Some(account));
        let user = account.user();
        assert_eq!(user.name, "system:serviceaccount:team:robot.one");
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"]
        );
        for other in [
            "jane",
            "system:serviceaccount:team",
            "system:serviceaccount::robot",
            "system:serviceaccount:team:",
            "system:serviceaccount:Team:robot",
            "system:serviceaccount:a.b:robot",
            "system:serviceaccount:team:robot:x",
        ] {
            assert_eq!(ServiceAccountName::from_user(other), None, "{other}");
        }
    }
}
