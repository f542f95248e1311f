//! `apiserver token`: tokens of service accounts and of users, for tests.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use clients::{Bounds, Client, ClientSettings};
use http::{Method, StatusCode};
use registry_core::durable_file;
use registry_core::rest::tokens::{TokenClaims, TokenObject};
use serde_json::Value;
use uuid::Uuid;

use crate::authentication::{TokenTable, sign_offline};
use crate::options::{Options, ServiceAccountName, TokenCommand};
use crate::pki::now;

use super::error::CommandError;

/// Time that the server has to tell the uid of an account, and the size of its answer.
const LOOKUP: Bounds = Bounds { timeout: Duration::from_secs(5), max_answer_bytes: 1024 * 1024 };

/// Error of the server's answer to the question for the uid of an account.
#[derive(Debug, thiserror::Error)]
#[error("its answer has no uid")]
struct NoUid;

/// Prints a token.
///
/// # Errors
/// Fails if it cannot be signed, or if the file cannot be written.
pub(super) fn print(options: &Options, command: &TokenCommand) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    super::print(runtime.block_on(token(options, command))? + "\n")
}

/// Returns the token of a command.
async fn token(options: &Options, command: &TokenCommand) -> Result<String, CommandError> {
    let account = command.account.as_ref().or(command.service_account.as_ref());
    match (account, &command.user, &command.file) {
        (Some(account), _, _) => {
            let uid = match &command.uid {
                Some(uid) => uid.clone(),
                None => uid_of(options, account).await?,
            };
            service_account_token(options, command, account, &uid)
        }
        (_, Some(user), Some(file)) => user_token(user, &command.group, file),
        _ => Err(CommandError::NoSubject),
    }
}

/// Asks the server in the data directory for the uid of an account.
async fn uid_of(options: &Options, account: &ServiceAccountName) -> Result<String, CommandError> {
    let client = ClientSettings::from_kubeconfig(&options.kubeconfig_path()).and_then(Client::new);
    let client = client.map_err(|error| CommandError::Lookup(error.into()))?;
    let ServiceAccountName { namespace, name } = account;
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}");
    let found = client.call(Method::GET, &path, Bytes::new(), LOOKUP).await;
    let found = found.map_err(|failure| match failure.status() {
        Some(StatusCode::NOT_FOUND) => CommandError::NoAccount(name.clone()),
        Some(_) => CommandError::Refused(failure),
        None => CommandError::Lookup(failure.into()),
    })?;
    let found: Value = serde_json::from_slice(&found).map_err(|error| CommandError::Lookup(error.into()))?;
    let uid = found.pointer("/metadata/uid").and_then(Value::as_str);
    Ok(uid.ok_or_else(|| CommandError::Lookup(NoUid.into()))?.to_owned())
}

fn service_account_token(
    options: &Options,
    command: &TokenCommand,
    account: &ServiceAccountName,
    uid: &str,
) -> Result<String, CommandError> {
    let seconds = i64::try_from(command.expires.as_secs()).unwrap_or(i64::MAX);
    if seconds == 0 {
        return Err(CommandError::Expires("a second or longer"));
    }
    if uid.is_empty() {
        return Err(CommandError::EmptyUid);
    }
    let claims = TokenClaims {
        namespace: account.namespace.clone(),
        service_account: TokenObject { name: account.name.clone(), uid: uid.to_owned() },
        binding: None,
        audiences: command.audience.clone(),
        issued_at_seconds: now(),
        lifetime_seconds: seconds,
        warn_after_seconds: None,
    };
    Ok(sign_offline(options, claims)?)
}

/// Adds a user's token to a token file, which is created if it does not exist.
fn user_token(user: &str, groups: &[String], file: &Path) -> Result<String, CommandError> {
    let has_delimiter = |text: &str| text.contains([',', '"', '\n', '\r']);
    if user.is_empty() || groups.iter().any(String::is_empty) {
        return Err(CommandError::NoUser);
    }
    if has_delimiter(user) || groups.iter().any(|group| has_delimiter(group)) {
        return Err(CommandError::Delimiter);
    }
    let failed = |source| CommandError::TokenFile { path: file.to_owned(), source };
    let mut text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error.into())),
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    text.extend([token.as_str(), ",", user, ",", user, ",\"", &groups.join(","), "\"\n"]);
    // A file that the server would refuse is not written.
    TokenTable::parse(&text).map_err(|error| failed(error.into()))?;
    durable_file::write(file, text.as_bytes()).map_err(|error| failed(error.into()))?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::Command;
    use crate::testing::TestServer;

    async fn run(directory: &Path, flags: &[&str]) -> Result<String, String> {
        let directory = format!("--data-dir={}", directory.display());
        let options = Options::from_arguments([&["apiserver", "token", &directory], flags].concat());
        let options = options.map_err(|error| error.to_string())?;
        let Some(Command::Token(command)) = &options.command else {
            return Err("another command".to_owned());
        };
        token(&options, command).await.map_err(|error| error.to_string())
    }

    async fn client(server: &TestServer, token: &str) -> kube::Client {
        let kubeconfig = kube::config::Kubeconfig::read_from(server.kubeconfig_path()).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        config.auth_info = serde_json::from_value(json!({ "token": token })).unwrap();
        kube::Client::try_from(config).unwrap()
    }

    async fn user_of(server: &TestServer, token: &str) -> Result<Value, String> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header("content-type", "application/json")
            .body(review.to_string().into_bytes())
            .unwrap();
        let answer: Result<Value, _> = client(server, token).await.request(request).await;
        answer.map(|review| review["status"]["userInfo"].clone()).map_err(|error| error.to_string())
    }

    async fn uid(server: &TestServer) -> String {
        let path = "/api/v1/namespaces/default/serviceaccounts";
        let body = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).unwrap();
        let created: Value = client(server, server.admin_token()).await.request(request).await.unwrap();
        created["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_service_accounts_token_is_its_users_for_its_time_and_audience() {
        let server = TestServer::builder().memory().start().await.unwrap();
        let (uid, directory) = (uid(&server).await, server.directory().path().to_owned());
        let account = "--service-account=default:robot";
        let minted = run(&directory, &[account, &format!("--uid={uid}"), "--expires=10m"]).await.unwrap();
        let user = user_of(&server, &minted).await.unwrap();
        assert_eq!(user["username"], "system:serviceaccount:default:robot");
        assert_eq!(user["uid"], *uid);

        for account in ["default/robot", "default:robot", account] {
            let found = run(&directory, &[account]).await.unwrap();
            assert_eq!(user_of(&server, &found).await.unwrap()["uid"], *uid, "{account}");
        }

        let elsewhere =
            run(&directory, &[account, &format!("--uid={uid}"), "--audience=vault"]).await.unwrap();
        let another = run(&directory, &[account, "--uid=another"]).await.unwrap();
        for refused in [elsewhere, another] {
            let error =
                user_of(&server, &refused).await.expect_err("no token of this account for this server");
            assert!(error.contains("Unauthorized"), "{error}");
        }
        for (flags, reason) in [
            (&[account, "--uid="][..], "must not be empty"),
            (&["default/nobody"], "serviceaccounts \"nobody\" not found"),
            (&["nowhere/robot"], "serviceaccounts \"robot\" not found"),
            (&["default/../robot"], "use NAMESPACE/NAME"),
            (&["default/..", "--uid=a"], "use NAMESPACE/NAME"),
            (&["default/", "--uid=a"], "use NAMESPACE/NAME"),
            (&["default:a:b", "--uid=a"], "use NAMESPACE/NAME"),
            (&["default/a?b", "--uid=a"], "use NAMESPACE/NAME"),
            (&[account, "default/robot"], "cannot be used with"),
            (&[account, "--uid=a", "--expires=0s"], "a second or longer"),
            (&["--service-account=robot", "--uid=a"], "use NAMESPACE/NAME"),
            (&[account, "--uid=a", "--user=b", "--file=c"], "cannot be used with"),
            (&[], "NAMESPACE/NAME"),
        ] {
            let refused = run(&directory, flags).await.expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
        let empty = tempfile::tempdir().unwrap();
        let refused = run(empty.path(), &[account, "--uid=a"]).await.expect_err("there is no key");
        assert!(refused.contains("start a server"), "{refused}");
        server.stop().await;
        let refused = run(&directory, &["default/robot"]).await.expect_err("there is no server");
        assert!(refused.contains("start it, or give --uid"), "{refused}");
    }

    #[tokio::test]
    async fn a_users_token_is_added_to_the_file_that_the_server_reads() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tokens.csv");
        let flag = format!("--file={}", file.display());
        let jane =
            run(directory.path(), &["--user=jane", "--group=devs", "--group=ops", &flag]).await.unwrap();
        run(directory.path(), &["--user=joe", &flag]).await.unwrap();
        for (flags, reason) in [
            (&["--user=a,b", &flag][..], "cannot contain"),
            (&["--user=a", "--group=b\"", &flag], "cannot contain"),
            (&["--user=", &flag], "must not be empty"),
            (&["--user=a"], "--file"),
        ] {
            let refused = run(directory.path(), flags).await.expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        let flag = format!("--token-auth-file={}", file.display());
        let server = TestServer::builder().memory().flag(flag).start().await.unwrap();
        let user = user_of(&server, &jane).await.unwrap();
        assert_eq!(user["username"], "jane");
        assert_eq!(user["groups"], json!(["devs", "ops", "system:authenticated"]));
        server.stop().await;
    }
}
