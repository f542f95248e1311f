//! Servers whose parents end.

use std::path::Path;
use std::process::{Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, WatchParams};

use crate::environment::{Environment, PROGRAM};
use crate::{names, until};

/// Whether a process runs; a zombie does not.
fn runs(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Starts a shell with a script, in whose arguments `$0` is a program and the others are its flags.
fn shell(environment: &mut Environment, script: &str, program: &Path, flags: &[String]) -> usize {
    let arguments = ["-c".to_owned(), script.to_owned(), program.display().to_string()];
    environment.start_program(Path::new("sh"), "shell", &[&arguments, flags].concat())
}

/// Returns the process id that a script has written to a file.
async fn id_in(file: &Path) -> String {
    let mut id = String::new();
    until("the process id is written", async || {
        id = std::fs::read_to_string(file).unwrap_or_default();
        id.ends_with('\n')
    })
    .await;
    id.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_a_test_that_is_killed() {
    let mut environment = Environment::new();
    let mut shells = Vec::new();
    let mut ids = Vec::new();
    for name in ["etcd", "kube-apiserver"] {
        let flags = match name {
            "etcd" => environment.etcd_flags(),
            _ => environment.server_flags(&environment.etcd_url()),
        };
        let file = environment.home().join(format!("{name}.id"));
        let script = format!("\"$0\" \"$@\" & echo $! > {}; wait", file.display());
        let program = environment.program(name);
        shells.push(shell(&mut environment, &script, &program, &flags));
        ids.push(id_in(&file).await);
        if name == "etcd" {
            environment.etcd_is_healthy().await;
        }
    }
    environment.server_is_healthy().await;
    let maps: Api<ConfigMap> = Api::namespaced(environment.client().await, "default");
    let mut watches = Vec::new();
    for _ in 0..100 {
        watches.push(maps.watch(&WatchParams::default(), "0").await.unwrap());
    }
    for shell in shells {
        environment.signal(shell, "KILL");
    }
    until("the processes end", async || ids.iter().all(|id| !runs(id))).await;
    drop(watches);
    assert_eq!(names(&environment.temporary()), [""; 0], "the directories of the test");
    assert_eq!(names(&environment.work()), [""; 0]);
}

/// A directory that no test environment has created stays, and what is in it.
#[tokio::test]
async fn directories_of_others_stay() {
    let mut environment = Environment::new();
    let directory = environment.home().join("data");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("file"), "precious").unwrap();
    let mut flags = environment.etcd_flags();
    flags.push(format!("--data-dir={}", directory.display()));
    let file = environment.home().join("id");
    let script = format!("\"$0\" \"$@\" & echo $! > {}; wait", file.display());
    let program = environment.program("etcd");
    let shell = shell(&mut environment, &script, &program, &flags);
    environment.etcd_is_healthy().await;
    let id = id_in(&file).await;
    environment.signal(shell, "KILL");
    until("etcd ends", async || !runs(&id)).await;
    assert_eq!(names(&directory), ["file"]);
}

/// The parent is gone before the process looks for it. The session is the one that the parent led.
#[tokio::test]
async fn a_parent_that_has_ended_already_is_noticed() {
    let mut environment = Environment::new();
    let file = environment.home().join("id");
    let script = format!("(sleep 0.3; exec \"$0\" \"$@\") & echo $! > {}", file.display());
    let arguments =
        ["sh".to_owned(), "-c".to_owned(), script, environment.program("etcd").display().to_string()];
    let flags = [&arguments[..], &environment.etcd_flags()].concat();
    let session = environment.start_program(Path::new("setsid"), "session", &flags);
    assert!(environment.ended(session).await.success());
    let id = id_in(&file).await;
    assert!(runs(&id));
    until("etcd ends", async || !runs(&id)).await;
    assert!(environment.log("session").contains("in the place of etcd"), "{}", environment.log("session"));
}

#[tokio::test]
async fn a_server_that_is_told_so_outlives_its_parent() {
    let mut environment = Environment::new();
    let mut flags = environment.etcd_flags();
    flags.push("--exit-with-parent=false".to_owned());
    let file = environment.home().join("id");
    let script = format!("\"$0\" \"$@\" & echo $! > {}; wait", file.display());
    let program = environment.program("etcd");
    let shell = shell(&mut environment, &script, &program, &flags);
    environment.etcd_is_healthy().await;
    let id = id_in(&file).await;
    environment.signal(shell, "KILL");
    environment.ended(shell).await;
    environment.etcd_is_healthy().await;
    assert!(runs(&id));
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    until("etcd ends", async || !runs(&id)).await;
}

/// `apiserver test -- COMMAND`, killed: neither the command nor the directory stays, even if the command ignores SIGTERM.
#[tokio::test]
async fn a_server_that_is_killed_takes_its_command_and_directory_along() {
    for script in ["echo $$ > $1; exec sleep 600", "trap '' TERM; echo $$ > $1; while :; do sleep 0.1; done"]
    {
        let environment = Environment::new();
        std::fs::remove_dir_all(environment.temporary()).unwrap();
        std::fs::create_dir(environment.temporary()).unwrap();
        let file = environment.home().join("id");
        let mut server = Command::new(PROGRAM)
            .args(["test", "--", "sh", "-c", script, "sh"])
            .arg(&file)
            .current_dir(environment.work())
            .env("TMPDIR", environment.temporary())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let id = id_in(&file).await;
        assert_eq!(names(&environment.temporary()).len(), 1);
        server.kill().unwrap();
        server.wait().unwrap();
        until("the command ends", async || !runs(&id)).await;
        until("the directory is removed", async || names(&environment.temporary()).is_empty()).await;
        assert_eq!(names(&environment.work()), [""; 0]);
    }
}

#[tokio::test]
async fn a_command_ends_with_the_parent_of_its_server() {
    let mut environment = Environment::new();
    std::fs::remove_dir_all(environment.temporary()).unwrap();
    std::fs::create_dir(environment.temporary()).unwrap();
    let (file, own) = (environment.home().join("id"), environment.home().join("server"));
    let script = format!("\"$0\" \"$@\" & echo $! > {}; wait", own.display());
    let command = format!("echo $$ > {}; exec sleep 600", file.display());
    let flags = ["test", "--", "sh", "-c", &command].map(str::to_owned);
    let shell = shell(&mut environment, &script, Path::new(PROGRAM), &flags);
    let (id, own) = (id_in(&file).await, id_in(&own).await);
    environment.signal(shell, "KILL");
    until("the command and the server end", async || !runs(&id) && !runs(&own)).await;
    until("the directory is removed", async || names(&environment.temporary()).is_empty()).await;
}
