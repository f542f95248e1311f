//! The cost of the decisions about a request: the same requests are sent to a server that decides about them as it does by
//! default, with 1,000 roles, 5,000 bindings and an audit log, and to a server that allows everything.

use bytes::Bytes;
use hyper::Method;

use super::super::figures::Limit;
use super::{CLIENTS, Stages, median};
use crate::Failure;
use crate::client::Client;
use crate::closed_loop::{Load, closed_loop};
use crate::objects::{self, Kind, config_map};
use crate::process::{ServerProcess, TENANT_TOKENS};

const NAMESPACE: &str = "gate";
/// Number of roles.
const ROLES: usize = 1_000;
/// Number of bindings, the tenant's own among them.
const BINDINGS: usize = 5_000;
/// Number of measurements of each server, in turn; the median counts.
const ROUNDS: usize = 5;
/// An audit policy that records each request without its body.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
/// The flags of the server that allows everything.
const ALLOW_EVERYTHING: [&str; 3] = [
    "--authorization-mode=AlwaysAllow",
    "--enable-priority-and-fairness=false",
    "--disable-admission-plugins=LimitRanger,ServiceAccount,ResourceQuota,MutatingAdmissionPolicy,MutatingAdmissionWebhook,ValidatingAdmissionPolicy,ValidatingAdmissionWebhook",
];

/// The measured operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Get,
    Create,
}

/// A server, and its CPU time per operation in each round, in microseconds.
struct Measured {
    server: ServerProcess,
    tenant: Client,
    get_micros: Vec<f64>,
    create_micros: Vec<f64>,
}

impl Stages<'_> {
    /// Measures reads and creates of a tenant with and without the decisions about them.
    pub(in super::super) async fn gate(&mut self) -> Result<(), Failure> {
        let mut open = self.gate_server(&ALLOW_EVERYTHING.map(str::to_owned)).await?;
        let policy = self.directory.join("audit-policy.yaml");
        std::fs::write(&policy, AUDIT_POLICY).map_err(|error| format!("{}: {error}", policy.display()))?;
        let log = self.directory.join("audit.log");
        let audit = [
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", log.display()),
        ];
        let mut deciding = self.gate_server(&audit).await?;
        bind(&deciding.server.client()?).await?;
        tokio::time::sleep(super::QUIET).await;
        let load = self.load(CLIENTS);
        for round in 0..ROUNDS {
            for measured in [&mut open, &mut deciding] {
                measured.round(round, load).await?;
            }
        }
        let events = std::fs::read(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let created = events.windows(15).filter(|part| part == b"\"verb\":\"create\"").count();
        if created == 0 {
            return Err("the audit log has no event of a create".into());
        }
        for (name, budget, open, deciding) in [
            ("GET", 6.0, open.get_micros, deciding.get_micros),
            ("CREATE", 25.0, open.create_micros, deciding.create_micros),
        ] {
            let (open, deciding) = (median(open), median(deciding));
            self.fact(format!("CPU of a {name}, everything allowed"), open, "µs", Limit::None);
            self.fact(format!("CPU of a {name}, decided and audited"), deciding, "µs", Limit::None);
            self.fact(format!("what decisions add to a {name}"), deciding - open, "µs", Limit::Most(budget));
        }
        Ok(())
    }

    async fn gate_server(&mut self, flags: &[String]) -> Result<Measured, Failure> {
        let place = self.place();
        let server = self.server_with(&place, flags).await?;
        objects::make_namespace(&server.client()?, NAMESPACE).await?;
        objects::fill(&server.client()?, Kind::ConfigMap, NAMESPACE, 0, 1).await?;
        let tenant = server.client_of(TENANT_TOKENS[0])?;
        Ok(Measured { server, tenant, get_micros: Vec::new(), create_micros: Vec::new() })
    }
}

impl Measured {
    async fn round(&mut self, round: usize, load: Load) -> Result<(), Failure> {
        let micros = self.measure(Operation::Get, round, load).await?;
        self.get_micros.push(micros);
        let micros = self.measure(Operation::Create, round, load).await?;
        self.create_micros.push(micros);
        Ok(())
    }

    async fn measure(&self, operation: Operation, round: usize, load: Load) -> Result<f64, Failure> {
        let collection = Kind::ConfigMap.collection(NAMESPACE);
        let name = match operation {
            Operation::Get => "get, by a tenant",
            Operation::Create => "create, by a tenant",
        };
        let measurement =
            closed_loop(&self.tenant, &self.server, load, name, 1, move |mut connection, number| {
                let collection = collection.clone();
                async move {
                    match operation {
                        Operation::Get => {
                            let path = format!("{collection}/item-0");
                            connection.exchange(Method::GET, &path, Bytes::new()).await
                        }
                        Operation::Create => {
                            let body = config_map(&format!("created-{round}-{number}"), "0");
                            connection.exchange(Method::POST, &collection, body).await
                        }
                    }
                }
            })
            .await?;
        Ok(measurement.cpu_micros())
    }
}

/// Creates the roles and bindings: the tenant's group has a role and a binding in the namespace, among those of other groups.
async fn bind(admin: &Client) -> Result<(), Failure> {
    let api = "/apis/rbac.authorization.k8s.io/v1";
    let mut connection = admin.connect().await?;
    let rule =
        r#"{"apiGroups":[""],"resources":["configmaps","pods"],"verbs":["get","list","watch","create"]}"#;
    for number in 0..ROLES {
        let role = format!(r#"{{"metadata":{{"name":"role-{number}"}},"rules":[{rule}]}}"#);
        connection.exchange(Method::POST, &format!("{api}/clusterroles"), role.into()).await?;
    }
    for number in 0..BINDINGS {
        let group = if number == 0 { "tenants".to_owned() } else { format!("team-{number}") };
        let role = number % ROLES;
        let binding = format!(
            r#"{{"metadata":{{"name":"binding-{number}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"role-{role}"}},"subjects":[{{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"{group}"}}]}}"#
        );
        let path = format!("{api}/namespaces/{NAMESPACE}/rolebindings");
        connection.exchange(Method::POST, &path, binding.into()).await?;
    }
    Ok(())
}
