use std::sync::Arc;
use std::time::Duration;

use clap::CommandFactory;
use registry_core::features::Features;
use registry_core::registry::InstalledApi;
use resources::admission::AdmissionSettings;

use super::*;

mod mistakes;

const HARBOR: Program = Program { name: "harbor", version: "2.3.4", description: "Ships of a harbor" };

fn parse(flags: &[&str]) -> Result<Options, String> {
    Options::from_arguments([&["apiserver"], flags].concat()).map_err(|error| error.to_string())
}

fn refusal(flags: &[&str]) -> String {
    match parse(flags) {
        Ok(options) => options.validate().expect_err("flags that contradict each other").to_string(),
        Err(message) => message,
    }
}

#[test]
fn the_command_line_is_consistent_and_needs_no_flag() {
    Options::command().debug_assert();
    let options = Options::default();
    assert_eq!(options.serving.bind_address.to_string(), "127.0.0.1");
    assert_eq!(options.serving.secure_port, 6443);
    assert_eq!(options.storage.event_ttl, Duration::from_hours(1));
    assert!(options.storage.watch_cache && options.authentication.anonymous_auth.is_none());
    let storage = StorageChoice::Embedded { directory: "./apiserver-data/storage".into() };
    assert_eq!(options.validate().unwrap(), storage);
    assert_eq!(options.certificate_directory(), PathBuf::from("./apiserver-data/pki"));
}

#[test]
fn etcd_is_chosen_by_its_servers() {
    let options = parse(&["--etcd-servers=https://a:2379,https://b:2379", "--etcd-cafile=ca"]).unwrap();
    let Ok(StorageChoice::Etcd3(connection)) = options.validate() else { panic!("not etcd3") };
    assert_eq!(connection.servers, ["https://a:2379", "https://b:2379"]);
    assert!(!parse(&["--watch-cache=false"]).unwrap().storage.watch_cache);
    assert!(parse(&["--watch-cache"]).unwrap().storage.watch_cache);
    // If a flag is repeated, the last one takes precedence; lists grow.
    let twice =
        parse(&["--secure-port=1", "--secure-port=2", "--runtime-config=v1", "--runtime-config=apps/v1"]);
    let twice = twice.unwrap();
    assert_eq!((twice.serving.secure_port, twice.api.runtime_config.len()), (2, 2));
}

#[test]
fn contradictions_are_refused_by_name() {
    for (flags, named) in [
        (&["--storage-backend=embedded", "--etcd-servers=http://a:1"][..], "contradict"),
        (&["--storage-backend=etcd3"], "needs --etcd-servers"),
        (&["--storage-backend=etcd2"], "retired"),
        (&["--storage-backend=zork"], "use embedded, etcd3 or memory"),
        (&["--etcd-cafile=x"], "without --etcd-servers"),
        (&["--etcd-servers=http://a:1", "--etcd-cafile=x"], "plain http"),
        (&["--etcd-servers=a:1"], "is not a valid URL"),
        (&["--etcd-servers=unix://"], "names no socket"),
        (&["--etcd-servers=unix:///a,http://a:1"], "cannot be combined"),
        (&["--etcd-servers=unix:///a", "--etcd-cafile=x"], "is a Unix socket, yet --etcd-cafile"),
        (&["--etcd-servers-overrides=/events#http://a:1"], "of no use without --etcd-servers"),
        (
            &["--etcd-servers=http://a:1", "--etcd-servers-overrides=events#http://a:1"],
            "must be of format: group/resource#servers, where servers are URLs, semicolon separated",
        ),
        (
            &["--etcd-servers=http://a:1", "--etcd-servers-overrides=/events#a:1"],
            "--etcd-servers-overrides: \"a:1\" is not a valid URL",
        ),
        (&["--etcd-servers=https://a:1", "--etcd-keyfile=x"], "--etcd-certfile"),
        (&["--tls-cert-file=x"], "--tls-private-key-file"),
        (&["--request-timeout=0"], "--request-timeout"),
        (&["--event-ttl=5"], "is not a valid duration"),
        (&["--runtime-config=zork"], "is not a valid API"),
        (&["--runtime-config=api/all=1"], "invalid value api/all=1"),
        (&["--runtime-config=apps/v1=yes"], "invalid value apps/v1=yes"),
        (
            &["--runtime-config=apps/v1/Deployments=true"],
            "resource is always lowercase plural, not \"Deployments\"",
        ),
        (&["--runtime-config=api/ga=false"], "--runtime-config=api/ga=false conflicts with"),
        (&["--runtime-config=flowcontrol.apiserver.k8s.io/v1=false"], "--enable-priority-and-fairness=true"),
        (&["--watch-cache-sizes=pods"], "has no #"),
        (&["--service-cluster-ip-range=10.0.0.0/32"], "at least 8 IP addresses"),
        (&["--oidc-issuer-url=https://x"], "must be specified together"),
        (&["--oidc-groups-claim=g"], "must be specified together"),
        (&["--oidc-required-claim=g"], "has no ="),
        (
            &["--authentication-config=x", "--oidc-issuer-url=https://x", "--oidc-client-id=y"],
            "mutually exclusive",
        ),
        (&["--requestheader-group-headers= "], "empty value in"),
        (&["--requestheader-uid-headers=X-Uid"], "X-Remote-Uid"),
        (&["--service-account-max-token-expiration=30m"], "between 1 hour"),
        (
            &["--service-account-signing-endpoint=/s", "--service-account-key-file=x"],
            "(They are mutually exclusive)",
        ),
        (
            &["--service-account-signing-endpoint=/s", "--service-account-signing-key-file=x"],
            "(They are mutually exclusive)",
        ),
        (&["--service-account-signing-endpoint=@a..b"], "must be a valid abstract socket name"),
        (&["--service-account-issuer=a", "--service-account-issuer=a"], "already specified"),
        (&["--service-account-issuer="], "empty string"),
        (&["--service-account-jwks-uri=http://x"], "requires https"),
        (&["--external-hostname=a/b"], "not a valid host name"),
    ] {
        let message = refusal(flags);
        assert!(message.contains(named), "{flags:?}: {message}");
    }
}

#[test]
fn typing_errors_are_told_with_what_is_similar() {
    let arguments = ["harbor", "--secure-prot=1"].into_iter().map(OsString::from);
    let message = Options::read(HARBOR, arguments).expect_err("an unknown flag").to_string();
    assert!(message.contains("--secure-port"), "{message}");
}

#[test]
fn flags_of_the_server_are_accepted_behind_a_command() {
    let options = parse(&["--v=1", "test", "--secure-port=7443", "--v", "2", "--", "tool", "--v=9"]).unwrap();
    assert_eq!((options.serving.secure_port, options.verbosity), (7443, 2));
    let Some(Command::Test(test)) = options.command else { panic!("not the command: {:?}", options.command) };
    assert_eq!(test.command, ["tool", "--v=9"]);

    let options = parse(&["storage", "check", "--from=embedded:data", "--etcd-prefix=/other"]).unwrap();
    assert_eq!(options.storage.etcd_prefix, "/other");
    assert!(matches!(options.command, Some(Command::Storage(StorageCommand::Check { from: Some(_), .. }))));
}

#[test]
fn a_word_behind_a_flag_is_its_value_only_if_the_flag_takes_one() {
    #[derive(Args, Debug)]
    struct Own {
        #[arg(long, default_value = "")]
        stage: String,
        #[arg(long)]
        loud: bool,
    }
    let read = |arguments: &[&str]| {
        let arguments = ["harbor"].iter().chain(arguments).map(OsString::from);
        let (options, own) = Options::read_extension::<Own>(HARBOR, arguments).unwrap();
        (options.serving.secure_port, own.stage, own.loud, options.command)
    };
    let (port, stage, _, command) = read(&["--stage", "test", "--secure-port=7443"]);
    assert_eq!((port, stage.as_str()), (7443, "test"));
    assert!(command.is_none());
    let (port, _, is_loud, command) = read(&["--loud", "test", "--secure-port=7443", "--", "tool"]);
    assert_eq!((port, is_loud), (7443, true));
    assert!(matches!(command, Some(Command::Test(_))));
    let (port, .., command) = read(&["test", "--assets", "test", "--secure-port=7443"]);
    assert_eq!(port, 7443);
    let Some(Command::Test(test)) = command else { panic!("not the command: {command:?}") };
    assert_eq!(test.assets.unwrap().to_str(), Some("test"));
}

#[test]
fn a_kubeconfig_names_a_url() {
    assert!(parse(&["kubeconfig", "--user=jane", "--server=https://[::1]:6443"]).is_ok());
    for other in ["foo", "127.0.0.1:6443", "ftp://host", "https://"] {
        let refused = refusal(&["kubeconfig", "--user=jane", &format!("--server={other}")]);
        assert!(
            refused.contains("it is not a valid URL: use one such as https://127.0.0.1:6443"),
            "{refused}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_by_its_flag() {
    let command = Options::command();
    let files = command
        .get_arguments()
        .filter(|flag| flag.get_value_names().is_some_and(|names| names.iter().any(|name| *name == "FILE")));
    for flag in files.filter_map(clap::Arg::get_long) {
        let arguments = ["harbor".to_owned(), format!("--{flag}=/nope/file")].map(OsString::from);
        let message = Options::read(HARBOR, arguments).expect_err("no such file").to_string();
        // Flags that require another one report that first.
        let expected = format!("--{flag}: cannot read /nope/file: No such file");
        let others = ["required arguments", "is a flag of extension servers"];
        assert!(
            message.contains(&expected) || others.iter().any(|other| message.contains(other)),
            "{flag}: {message}"
        );
    }
    let arguments = ["harbor", "--token-auth-file=/nope/file"].map(OsString::from);
    let message = Options::read(HARBOR, arguments).expect_err("no such file").to_string();
    assert!(
        message.starts_with("error: --token-auth-file: cannot read /nope/file: No such file"),
        "{message}"
    );
}

#[test]
fn a_program_prints_its_own_name_and_version() {
    let printed = Options::read(HARBOR, ["harbor", "--version"].map(OsString::from));
    assert_eq!(printed.expect_err("the version, and nothing else").to_string(), "harbor 2.3.4\n");
}

#[test]
fn the_server_of_this_project_prints_its_own_name_and_that_of_kubernetes() {
    let own = Program { name: "apiserver", version: env!("CARGO_PKG_VERSION"), description: "" };
    let printed = Options::read(own, ["apiserver", "--version"].map(OsString::from));
    let printed = printed.expect_err("the version, and nothing else").to_string();
    let commit = crate::version::GIT_COMMIT;
    let expected = match commit.get(..12) {
        Some(short) => format!("orlop {} (commit {short}, Kubernetes 1.36.2)\n", env!("CARGO_PKG_VERSION")),
        None => format!("orlop {} (Kubernetes 1.36.2)\n", env!("CARGO_PKG_VERSION")),
    };
    assert_eq!(printed, expected);
    assert!(commit.is_empty() || commit.len() == 40, "{commit}");
}

/// Returns the text of `-h` or `--help` of a program.
fn help(program: Program, flag: &str) -> String {
    let arguments = [program.name, flag].map(OsString::from);
    Options::read(program, arguments).expect_err("the help").to_string()
}

#[test]
fn the_short_help_has_the_flags_that_matter_and_the_long_one_begins_with_examples() {
    let own = Program { name: "apiserver", version: env!("CARGO_PKG_VERSION"), description: "" };
    let (short, long) = (help(own, "-h"), help(own, "--help"));
    let flags = |text: &str| text.lines().filter(|line| line.trim_start().contains("--")).count();
    assert!(short.lines().count() < 60 && flags(&short) < 20, "{short}");
    for flag in ["--data-dir", "--etcd-servers", "--secure-port", "--help shows all"] {
        assert!(short.contains(flag), "{flag}: {short}");
    }
    assert!(!short.contains("--audit-webhook-mode") && !short.contains("--kubeconfig"), "{short}");
    assert!(long.starts_with("A Kubernetes API server in one process"), "{long}");
    let (examples, flags) = (long.find("Examples:").unwrap(), long.find("--audit-webhook-mode").unwrap());
    assert!(examples < flags, "examples come first");
}

#[test]
fn a_program_with_flags_of_its_own_keeps_its_description() {
    /// The flags of this program.
    #[derive(Args)]
    struct Own {
        /// A greeting
        #[arg(long, default_value = "hello")]
        greeting: String,
    }
    let read =
        |arguments: &[&str]| Options::read_extension::<Own>(HARBOR, arguments.iter().map(OsString::from));
    for flag in ["-h", "--help"] {
        let help = read(&["harbor", flag]).err().unwrap().to_string();
        assert!(help.starts_with("Ships of a harbor\n"), "{help}");
    }
    assert!(read(&["harbor", "--help"]).err().unwrap().to_string().contains("--greeting"));
    // Empty values of its own flags are its own.
    assert_eq!(read(&["harbor", "--greeting=", "--data-dir="]).unwrap().1.greeting, "");
}

#[test]
fn durations_are_read_as_go_reads_them() {
    for (text, milliseconds) in [
        ("0", 0),
        ("0s", 0),
        ("300ms", 300),
        ("30s", 30_000),
        ("1.5h", 5_400_000),
        ("1h30m", 5_400_000),
        ("1m.5s", 60_500),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in ["", "5", "s", "-5m", "5 m", "1..5s", ".s", "99999999999999999999h", "5days"] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn lists_are_read() {
    let options = parse(&["--watch-cache-sizes=pods#1000,deployments.apps#0"]).unwrap();
    let sizes = options.storage.watch_cache_sizes;
    assert_eq!((sizes[0].resource.as_str(), sizes[0].events), ("pods", 1000));
    assert_eq!((sizes[1].group.as_str(), sizes[1].events), ("apps", 0));
    let range: ServiceRange = "10.0.0.77/24".parse().unwrap();
    assert_eq!(range.base.to_string(), "10.0.0.0");
    assert_eq!(range.first_address().to_string(), "10.0.0.1");
    assert_eq!("fd00::/108".parse::<ServiceRange>().unwrap().first_address().to_string(), "fd00::1");
}

#[test]
fn admission_plugins_are_switched_by_name() {
    let installed = Arc::new(InstalledApi::default());
    let chain = || resources::admission::plugins(&installed, &AdmissionSettings::default());
    let apply = |flags: &[&str]| {
        let mut chain = chain();
        parse(flags).unwrap().admission.apply(&mut chain).map(|()| chain.names().collect::<Vec<_>>())
    };
    let all: Vec<_> = chain().names().collect();
    assert!(all.contains(&"DefaultTolerationSeconds"), "{all:?}");
    let usual = apply(&[]).unwrap();
    assert!(!usual.contains(&"AlwaysDeny") && !usual.contains(&"EventRateLimit"), "{usual:?}");
    assert_eq!(apply(&["--enable-admission-plugins=DefaultTolerationSeconds"]).unwrap(), usual);
    let fewer = apply(&["--disable-admission-plugins=DefaultTolerationSeconds,PodSecurity"]).unwrap();
    assert_eq!(fewer.len(), usual.len() - 1);
    let more = apply(&["--enable-admission-plugins=AlwaysPullImages,DenyServiceExternalIPs"]).unwrap();
    assert_eq!(more.len(), usual.len() + 3, "the former changes and validates");
    for (flags, named) in [
        (&["--disable-admission-plugins=Zork"][..], "is not an admission plug-in"),
        (&["--enable-admission-plugins=Zork"], "is not an admission plug-in"),
        // Nodes are not served here.
        (&["--enable-admission-plugins=NodeRestriction"], "NodeRestriction is not built into"),
        (
            &["--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"],
            "Priority is both",
        ),
    ] {
        let refused = apply(flags).expect_err("a chain that is not as asked for").to_string();
        assert!(refused.contains(named), "{refused}");
    }
}

#[test]
fn admission_plugins_are_configured_by_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admission.yaml");
    let configure = |text: &str, flags: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let file = format!("--admission-control-config-file={}", path.display());
        let flags: Vec<&str> = flags.iter().copied().chain([file.as_str()]).collect();
        parse(&flags)
            .unwrap()
            .admission
            .configuration(Features::default())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n";
    let limits = "- name: EventRateLimit\n  path: limits.yaml\n";
    let own = directory.path().join("limits.yaml");
    let kind = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n";
    std::fs::write(&own, format!("{kind}limits: [{{type: Server, qps: 5, burst: 9}}]\n")).unwrap();
    let enabled = ["--enable-admission-plugins=EventRateLimit"];
    assert_eq!(configure(&format!("{head}{limits}"), &enabled), Ok(()));
    let refused = configure(&format!("{head}- name: PodSecurity\n"), &enabled).unwrap_err();
    assert!(refused.contains("EventRateLimit needs a configuration"), "{refused}");
    std::fs::write(&own, format!("{kind}limits: [{{type: Server, qps: 0, burst: 9}}]\n")).unwrap();
    let refused = configure(&format!("{head}{limits}"), &enabled).unwrap_err();
    assert!(refused.contains("plugins[0] (EventRateLimit): limits[0].qps: Invalid value: 0"), "{refused}");
    let webhooks = "- name: MutatingAdmissionWebhook\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, \
                    kind: WebhookAdmissionConfiguration, kubeConfigFile: a}\n";
    // The credentials are read with the certificates, when the server starts.
    assert_eq!(configure(&format!("{head}{webhooks}"), &[]), Ok(()));
    assert!(configure("[", &[]).is_err());
}
