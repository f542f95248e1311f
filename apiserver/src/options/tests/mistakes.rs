//! Mistakes in command lines are told with what to write instead; what kube-apiserver accepts is none.

use super::*;

/// Returns the options of a command line, or the error that is printed.
fn read(arguments: &[&str]) -> Result<Options, String> {
    let arguments = [&["harbor"], arguments].concat();
    Options::read(HARBOR, arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
}

/// Returns the error of a command line.
fn message(arguments: &[&str]) -> String {
    read(arguments).expect_err("a mistake")
}

#[test]
fn flags_of_former_releases_are_told_with_what_to_use_instead() {
    for (flag, expected) in [
        (
            "--insecure-port=8080",
            "error: --insecure-port was removed from kube-apiserver in Kubernetes 1.24; leave it out",
        ),
        ("--basic-auth-file=x", "Kubernetes 1.19; use --token-auth-file"),
        ("--enable-swagger-ui", "in a former release; leave it out"),
        ("--cloud_provider=aws", "--cloud-provider was removed from kube-apiserver in Kubernetes 1.33"),
    ] {
        let message = message(&[flag]);
        assert!(message.contains(expected) && !message.contains("tip:"), "{message}");
    }
    let message =
        message(&["--logtostderr", "--v=2", "--log_dir=/x", "--logtostderr=true", "--", "--port=1"]);
    assert!(
        message.contains("--logtostderr was removed") && message.contains("\n  --log-dir was removed"),
        "{message}"
    );
    assert!(!message.contains("--port"), "{message}");
}

#[test]
fn underscores_in_the_names_of_flags_are_hyphens() {
    let options = read(&[
        "--etcd_servers=http://a_b:1",
        "--etcd_prefix",
        "/a_b",
        "test",
        "--secure_port=7",
        "--",
        "--a_b",
    ]);
    let options = options.unwrap();
    assert_eq!(options.storage.etcd_servers, ["http://a_b:1"]);
    assert_eq!((options.storage.etcd_prefix.as_str(), options.serving.secure_port), ("/a_b", 7));
    let Some(Command::Test(test)) = options.command else { panic!("not the command: {:?}", options.command) };
    assert_eq!(test.command, ["--a_b"]);
    assert!(
        read(&["--watch_cache=0", "--profiling=false"]).is_ok_and(|options| !options.storage.watch_cache)
    );
    assert!(read(&["storage", "backup", "--without_keys", "x_y"]).is_ok());
    for wrong in ["--_", "--=_", "--secure__port=1", "--_secure_port=1"] {
        assert!(read(&[wrong]).is_err(), "{wrong}");
    }
}

#[test]
fn a_flag_of_an_author_keeps_its_underscores() {
    #[derive(Args, Debug)]
    struct Own {
        #[arg(long = "my_flag", default_value = "")]
        mine: String,
    }
    let read = |argument: &str| {
        Options::read_extension::<Own>(HARBOR, ["harbor", argument].map(OsString::from))
            .map(|(_, own)| own.mine)
    };
    assert_eq!(read("--my_flag=a_b").unwrap(), "a_b");
    assert!(read("--my-flag=a_b").is_err());
}

#[test]
fn a_truth_value_behind_its_flag_is_told_to_stand_behind_an_equals_sign() {
    for arguments in [
        &["--anonymous-auth", "false"][..],
        &["--v=1", "--anonymous_auth", "false", "test", "--", "x"],
        &["test", "--anonymous-auth", "false", "--", "x"],
    ] {
        let message = message(arguments);
        let expected =
            "error: the value of --anonymous-auth stands behind '=': write '--anonymous-auth=false'\n";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_word_that_is_not_a_command_is_told_with_the_commands() {
    for word in ["man", "start", "flags", "zork", "false", "--help=x"] {
        let message = message(&[word]);
        assert!(
            !message.contains("man-page") && !message.contains("manifests") && !message.contains("tip:"),
            "{message}"
        );
        if !word.starts_with('-') {
            let expected = format!(
                "error: '{word}' is not a command: use one of completion, kubeconfig, storage, test, token, or leave it out to \
                 start a server\n"
            );
            assert!(message.starts_with(&expected), "{message}");
        }
    }
    let message = message(&["storage", "chek"]);
    let expected = "error: 'chek' is not a command of 'storage': use one of backup, check, export, import, migrate, restore\n";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_command_of_a_test_is_told_to_stand_behind_two_hyphens() {
    let expected = "error: put the command to run behind '--': 'harbor test -- pytest -x tests'\n";
    let message = message(&["--v=1", "test", "pytest", "-x", "tests"]);
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_token_without_a_subject_is_told_how_to_name_one() {
    let expected = "error: name a service account, as NAMESPACE/NAME, or give --user with --file\n";
    let missing = message(&["token"]);
    assert!(missing.starts_with(expected), "{missing}");
    let message = message(&["token", "--user=jane"]);
    assert!(message.contains("--file <FILE>"), "{message}");
}

#[test]
fn a_value_that_is_not_a_number_or_an_address_is_told_in_plain_words() {
    for (argument, expected) in [
        (
            "--v=abc",
            "invalid value 'abc' for '--v <LEVEL>': it is not a valid number: use a whole number such as 10",
        ),
        ("--secure-port=", "it is not a valid number: use a whole number"),
        ("--max-requests-inflight=99999999999999999999999", "it is too large"),
        ("--goaway-chance=x", "it is not a valid number: use one such as 0.02"),
        (
            "--bind-address=localhost",
            "invalid value 'localhost' for '--bind-address <IP>': it is not an IP address: use one such as 127.0.0.1",
        ),
        ("--secure-port=70000", "70000 is not in 0..=65535"),
    ] {
        let message = message(&[argument]);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_verbosity_and_the_data_directory_are_accepted_behind_every_command() {
    for arguments in [
        &["test", "-v", "3", "--", "true"][..],
        &["test", "-v3", "--", "true"],
        &["test", "--v=3", "--", "true"],
        &["--v=1", "test", "-v", "3", "--", "tool", "-v", "9"],
        &["-v", "3", "test", "--", "true"],
        &["storage", "check", "-v", "3"],
        &["storage", "-v3", "check"],
        &["token", "a/b", "-v=3"],
    ] {
        assert_eq!(read(arguments).unwrap().verbosity, 3, "{arguments:?}");
    }
    for arguments in [
        &["test", "--data-dir=d", "--", "true"][..],
        &["--data-dir=d", "test", "--", "true"],
        &["storage", "check", "--data-dir", "d"],
        &["storage", "--data-dir", "d", "backup", "file"],
        &["kubeconfig", "--user=jane", "--data-dir=a", "--data-dir=d"],
        &["completion", "bash", "--data-dir=d"],
    ] {
        assert_eq!(read(arguments).unwrap().data_directory(), PathBuf::from("d"), "{arguments:?}");
    }
}

#[test]
fn flags_that_a_command_shares_with_the_server_are_described_for_it() {
    // Without the line breaks, whose places depend on the width.
    let help = |command: &[&str]| {
        message(&[command, &["--help"]].concat()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (command, expected) in [
        (&["test"][..], "Keeps the data in this directory [default: in memory"),
        (&["test"], "--v <LEVEL>"),
        (&["kubeconfig"], "whose authority signs the certificate"),
        (&["token"], "whose key signs the token"),
        (&["storage"], "with its embedded store"),
        (&["storage", "backup"], "with its embedded store"),
    ] {
        let help = help(command);
        assert!(help.contains(expected), "{command:?}: {help}");
        assert!(!help.contains("--storage-backend=memory"), "{command:?}: {help}");
    }
    for command in ["completion", "manifests"] {
        let help = help(&[command]);
        assert!(!help.contains("--data-dir") && !help.contains("--v "), "{help}");
    }
    let help = help(&[]);
    assert!(
        help.contains("--etcd-servers or --storage-backend=memory") && help.contains("3 adds a line"),
        "{help}"
    );
}
