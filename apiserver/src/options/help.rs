//! The help: the flags that matter and nothing else for `-h`; examples and all flags for `--help`.

use clap::{Arg, Command};

/// The flags of the short help.
const SHORT: [&str; 10] = [
    "admission-control-config-file",
    "audit-log-path",
    "authorization-mode",
    "bind-address",
    "client-ca-file",
    "data-dir",
    "etcd-servers",
    "kubeconfig",
    "secure-port",
    "v",
];
const SHORT_END: &str = "These are the flags that matter most: --help shows all, with examples.";
const LONG_END: &str = "\
Signals: SIGTERM and SIGINT stop the server gracefully, a second one stops it at once. SIGHUP is
ignored: certificates, and those configuration files that may change while the server runs, are read
again within 10 seconds.

Durations are written as Go writes them: 300ms, 30s, 5m, 1h30m.";
/// Examples, which are shown in the long help only, come before the flags.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

const SERVER_EXAMPLES: &str = "\
Examples:
  # A server of your own: everything below ./apiserver-data, a kubeconfig written for you
  apiserver
  export KUBECONFIG=$PWD/apiserver-data/admin.kubeconfig
  kubectl get namespaces

  # Over etcd: the same binary, several replicas
  apiserver --etcd-servers=https://10.0.0.1:2379,https://10.0.0.2:2379 \\
            --etcd-cafile=ca.crt --etcd-certfile=client.crt --etcd-keyfile=client.key

  # The tests of a project, with a server in memory that stops when they end
  apiserver test -- pytest tests

  # A server in memory, on a free port, that leaves no data behind; it is ready when the file exists
  apiserver --storage-backend=memory --secure-port=0 \\
            --write-kubeconfig=test.kubeconfig --ready-file=ready &
  until test -e ready; do sleep 0.01; done
  kubectl --kubeconfig=test.kubeconfig get namespaces

  # With a token for `alice`
  echo 'secret,alice,alice-uid,\"devs,ops\"' > tokens.csv
  apiserver --token-auth-file=tokens.csv

  # A kubeconfig of another user, valid for a day
  apiserver kubeconfig --user=jane --group=devs --expires=24h > jane.kubeconfig

  # A token of a service account, for a test
  apiserver token default/robot

  # Back up the store and the keys of a running server, and restore them elsewhere
  apiserver storage backup monday.backup
  apiserver storage restore monday.backup --data-dir=elsewhere";

const EXTENSION_EXAMPLES: &str = "\
Examples:
  # Alone: this API and Kubernetes' own, everything below ./apiserver-data
  PROGRAM
  export KUBECONFIG=$PWD/apiserver-data/admin.kubeconfig
  kubectl api-resources

  # Behind a main server: this API only. The main server authenticates and authorizes the clients
  PROGRAM --kubeconfig=main.kubeconfig --bind-address=0.0.0.0 --secure-port=8443

  # In a cluster: an APIService, a Service, a Deployment and the permissions that they need
  PROGRAM manifests --namespace=PROGRAM --image=registry.example.dev/PROGRAM:1 | kubectl apply -f -";

/// Arranges the help of a server.
pub(super) fn server_help(command: Command, program: &str) -> Command {
    arranged(command, program).before_long_help(SERVER_EXAMPLES)
}

/// Arranges the help of a program that can be an extension server.
pub(super) fn extension_help(command: Command, program: &str) -> Command {
    arranged(command, program).before_long_help(EXTENSION_EXAMPLES.replace("PROGRAM", program))
}

/// Gives every command the flags that it shares with the server, with what they mean to it. Those that mean nothing to it
/// are accepted, and hidden.
fn with_shared_flags(command: Command) -> Command {
    let shared: Vec<Arg> = command.get_arguments().filter(|flag| flag.is_global_set()).cloned().collect();
    command.mut_subcommands(|command| {
        let own = shared.iter().map(|flag| {
            let meaning = shared_flag(command.get_name(), flag.get_long().unwrap_or_default());
            let flag = flag.clone();
            match meaning {
                Some(meaning) => flag.help(meaning),
                None => flag.hide(true),
            }
        });
        let own: Vec<Arg> = own.collect();
        command.args(own)
    })
}

/// Returns the meaning of a flag of the server to a command.
fn shared_flag(command: &str, flag: &str) -> Option<&'static str> {
    Some(match (command, flag) {
        ("kubeconfig", "data-dir") => {
            "Data directory of the server, whose authority signs the certificate [default: ./apiserver-data]"
        }
        ("storage", "data-dir") => {
            "Data directory of the server, with its embedded store and its keys [default: ./apiserver-data]"
        }
        ("test", "data-dir") => {
            "Keeps the data in this directory [default: in memory, with a temporary directory for keys, removed at the end]"
        }
        ("test", "v") => "Verbosity of the log on stderr: 0 has errors only, 3 has a line for each request",
        ("token", "data-dir") => {
            "Data directory of the server, whose key signs the token [default: ./apiserver-data]"
        }
        _ => return None,
    })
}

fn arranged(command: Command, program: &str) -> Command {
    // There are two ways, of which the library would show one.
    let usage = format!(
        "{program} token [OPTIONS] NAMESPACE/NAME [--uid=UID] [--audience=AUDIENCE]\n       \
         {program} token [OPTIONS] --user=NAME [--group=GROUP] --file=FILE"
    );
    let command = command.mut_subcommand("token", |token| token.override_usage(usage));
    let command = with_shared_flags(command);
    let command = command.help_template(TEMPLATE).after_help(SHORT_END).after_long_help(LONG_END);
    command.mut_args(|argument| {
        let is_short = argument.get_long().is_some_and(|name| SHORT.contains(&name));
        if is_short { argument } else { argument.hide_short_help(true) }
    })
}
