//! `apiserver kubeconfig`: a kubeconfig for a user, with a client certificate of the generated authority.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clients::WrittenKubeconfig;
use registry_core::codec::{Limits, yaml};
use serde_json::Value;

use crate::options::{ADMIN_KUBECONFIG, KubeconfigCommand, Options};
use crate::pki::{issue_client, now};

use super::error::CommandError;

/// Error of an administrator's kubeconfig without what is needed.
#[derive(Debug, thiserror::Error)]
enum KubeconfigError {
    #[error("it has no {0}")]
    NoField(&'static str),
    #[error("its certificate-authority-data is not a certificate in base64")]
    NoAuthority,
}

/// Prints a kubeconfig.
///
/// # Errors
/// Fails if the certificate cannot be issued, or if the server has never been started.
pub(super) fn print(options: &Options, command: &KubeconfigCommand) -> Result<(), CommandError> {
    super::print(kubeconfig(options, command)?)
}

/// Returns the kubeconfig of a command.
///
/// # Errors
/// As [`print`].
pub(crate) fn kubeconfig(options: &Options, command: &KubeconfigCommand) -> Result<String, CommandError> {
    if command.user.is_empty() || command.group.iter().any(String::is_empty) {
        return Err(CommandError::NoUser);
    }
    if command.expires.is_zero() {
        return Err(CommandError::Expires("longer than 0"));
    }
    // The administrator's kubeconfig has the address and the authority of the server.
    let mut path = options.kubeconfig_path();
    // A server over etcd or in memory writes it beside the certificates if they are its only directory.
    if let Some(directory) = options.serving.cert_dir.as_ref().filter(|_| !path.exists()) {
        path = directory.join(ADMIN_KUBECONFIG);
    }
    let failed = |source| CommandError::Kubeconfig { path: path.clone(), source };
    let present = fs::read(&path).map_err(|error| failed(error.into()))?;
    let present = yaml::decode(&present, &Limits::default()).map_err(|error| failed(error.into()))?.value;
    let cluster = |field: &'static str| {
        let found = present.pointer(&format!("/clusters/0/cluster/{field}")).and_then(Value::as_str);
        found.map(str::to_owned).ok_or_else(|| failed(KubeconfigError::NoField(field).into()))
    };
    let server = match &command.server {
        Some(server) => server.clone(),
        None => cluster("server")?,
    };
    let made = issue_client(options, &command.user, &command.group, command.expires, now())?;
    let authority = BASE64_STANDARD.decode(cluster("certificate-authority-data")?);
    let authority = authority.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let kubeconfig = WrittenKubeconfig {
        server: &server,
        authority_pem: &authority.ok_or_else(|| failed(KubeconfigError::NoAuthority.into()))?,
        user: &command.user,
        certificate_pem: &made.certificate_pem,
        key_pem: &made.key_pem,
    };
    Ok(serde_json::to_string_pretty(&kubeconfig.to_json())? + "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::Command;
    use crate::testing::TestServer;

    fn run(server: &TestServer, flags: &[&str]) -> Result<Value, String> {
        let directory = format!("--data-dir={}", server.directory().path().display());
        let options = Options::from_arguments([&["apiserver", "kubeconfig", &directory], flags].concat());
        let options = options.map_err(|error| error.to_string())?;
        let Some(Command::Kubeconfig(command)) = &options.command else {
            return Err("another command".to_owned());
        };
        let printed = kubeconfig(&options, command).map_err(|error| error.to_string());
        printed.map(|text| serde_json::from_str(&text).unwrap())
    }

    #[tokio::test]
    async fn the_user_of_a_printed_kubeconfig_comes_in_for_its_time() {
        let server = TestServer::builder().memory().start().await.unwrap();
        let printed =
            run(&server, &["--user=jane \"j\" doe", "--group=system:masters", "--expires=10m"]).unwrap();
        assert_eq!(printed["clusters"][0]["cluster"]["server"], server.url());
        let kubeconfig: kube::config::Kubeconfig = serde_json::from_value(printed.clone()).unwrap();
        let defaults = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &defaults);
        let client = kube::Client::try_from(config.await.unwrap()).unwrap();
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header("content-type", "application/json")
            .body(review.to_string().into_bytes())
            .unwrap();
        let user: Value = client.request(request).await.unwrap();
        assert_eq!(user["status"]["userInfo"]["username"], "jane \"j\" doe");
        assert_eq!(user["status"]["userInfo"]["groups"], json!(["system:masters", "system:authenticated"]));

        let pem =
            BASE64_STANDARD.decode(printed["users"][0]["user"]["client-certificate-data"].as_str().unwrap());
        let (_, pem) = x509_parser::pem::parse_x509_pem(&pem.unwrap()).unwrap();
        let end = pem.parse_x509().unwrap().validity().not_after.timestamp();
        assert!((500..=600).contains(&(end - now())), "{}", end - now());
        for (flags, reason) in [
            (&["--user="][..], "must not be empty"),
            (&["--user=a", "--group="], "must not be empty"),
            (&["--user=a", "--expires=0s"], "longer than 0"),
            (&["--user=a", "--expires=200000h"], "ends before"),
            (&["--group=a"], "--user"),
        ] {
            let refused = run(&server, flags).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
        server.stop().await;
    }
}
