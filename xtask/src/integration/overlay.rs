//! The files that are laid over Kubernetes' sources for Go's compiler, which reads them in the place of the tree's own.
//!
//! Files of the tree are copied with lines inserted beside an anchor, a line that occurs once; the rest are this project's
//! own. The tree itself is not changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::Failure;

/// Lines that are inserted into a file of the tree.
struct Hook {
    file: &'static str,
    /// The line beside which they stand, without the space around it.
    anchor: &'static str,
    side: Side,
    lines: &'static str,
}

/// The side of the anchor.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// A file that the tree does not have.
struct Addition {
    file: &'static str,
    content: &'static str,
}

const KUBE: &str = "cmd/kube-apiserver/app/testing/testserver.go";
const FRAMEWORK: &str = "test/integration/framework/test_server.go";
const HOST_NAME: &str = "staging/src/k8s.io/apiserver/pkg/server/config.go";
const LEAKS: &str = "test/integration/framework/goleak.go";
const ETCD: &str = "test/integration/etcd/server.go";
const EXTENSIONS: &str = "staging/src/k8s.io/apiextensions-apiserver/pkg/cmd/server/testing/testserver.go";
const FIXTURES: &str = "staging/src/k8s.io/apiextensions-apiserver/test/integration/fixtures/server.go";

/// The places where the tests start a server inside their process.
const HOOKS: [Hook; 9] = [
    Hook {
        file: KUBE,
        anchor: "completedOptions, err := s.Complete(tCtx)",
        side: Side::Before,
        lines: "if orlopActive() {\n\
                return orlopStart(tCtx, t, instanceOptions, s, namedFlagSets, storageConfig, result.TmpDir, tearDown)\n\
                }",
    },
    Hook {
        file: FRAMEWORK,
        anchor: "if setup.ModifyServerRunOptions != nil {",
        side: Side::Before,
        lines: "orlopBefore := orlopFlags(t, setup, opts)",
    },
    Hook {
        file: FRAMEWORK,
        anchor: "completedOptions, err := opts.Complete(ctx)",
        side: Side::Before,
        lines: "if orlopBefore != nil {\nreturn orlopStart(ctx, cancel, t, certDir, opts, orlopBefore)\n}",
    },
    // Servers of one cluster differ by the names of their hosts.
    Hook {
        file: HOST_NAME,
        anchor: "func SetHostnameFuncForTests(name string) {",
        side: Side::After,
        lines: "os.Setenv(\"ORLOP_HOST_NAME\", name)",
    },
    // A client that is left over says nothing about the server, and is waited for up to ten minutes.
    Hook {
        file: LEAKS,
        anchor: "func goleakFindRetry(opts ...goleak.Option) error {",
        side: Side::After,
        lines: "if len(opts) >= 0 {\nreturn nil\n}",
    },
    Hook {
        file: ETCD,
        anchor: "for _, f := range configFuncs {",
        side: Side::Before,
        lines: "orlopBefore := orlopFlags(opts)",
    },
    Hook {
        file: ETCD,
        anchor: "config, err := app.NewConfig(completedOptions)",
        side: Side::Before,
        lines: "if orlopBefore != nil {\n\
                return orlopStart(tCtx, t, certDir, opts, orlopBefore, rawClient, kvClient)\n\
                }",
    },
    Hook {
        file: EXTENSIONS,
        anchor: "config, err := s.Config()",
        side: Side::Before,
        lines: "if orlopActive() {\nreturn orlopStart(t, s, fs, result.TmpDir)\n}",
    },
    Hook {
        file: FIXTURES,
        anchor: "func StartDefaultServerWithConfigAccess(t servertesting.Logger, flags ...string) (func(), *rest.Config, \
                 apiserver.CompletedConfig, error) {",
        side: Side::After,
        lines: "servertesting.OrlopCannotJudge(t, \"CompletedConfig\")",
    },
];

/// The code that the hooks call.
const ADDITIONS: [Addition; 7] = [
    Addition {
        file: "staging/src/k8s.io/apiextensions-apiserver/pkg/cmd/server/testing/orlop/process.go",
        content: include_str!("overlay/process.go"),
    },
    Addition {
        file: "staging/src/k8s.io/apiextensions-apiserver/pkg/cmd/server/testing/orlop/flags.go",
        content: include_str!("overlay/flags.go"),
    },
    Addition {
        file: "staging/src/k8s.io/apiextensions-apiserver/pkg/cmd/server/testing/orlop.go",
        content: include_str!("overlay/apiextensions_testing.go"),
    },
    Addition {
        file: "cmd/kube-apiserver/app/testing/orlop/kube.go",
        content: include_str!("overlay/kube.go"),
    },
    Addition {
        file: "cmd/kube-apiserver/app/testing/orlop.go",
        content: include_str!("overlay/kube_testing.go"),
    },
    Addition { file: "test/integration/framework/orlop.go", content: include_str!("overlay/framework.go") },
    Addition { file: "test/integration/etcd/orlop.go", content: include_str!("overlay/etcd.go") },
];

/// Writes the files into the directory, and returns the path of the file that names them, for Go's `-overlay`.
pub(super) fn lay(tree: &Path, directory: &Path) -> Result<PathBuf, Failure> {
    let mut contents: BTreeMap<&str, String> = BTreeMap::new();
    for hook in &HOOKS {
        let text = match contents.remove(hook.file) {
            Some(text) => text,
            None => std::fs::read_to_string(tree.join(hook.file))
                .map_err(|error| format!("{}: {error}", tree.join(hook.file).display()))?,
        };
        contents.insert(hook.file, hook.insert(&text)?);
    }
    contents.extend(ADDITIONS.iter().map(|addition| (addition.file, addition.content.to_owned())));
    let mut replaced = BTreeMap::new();
    for (file, content) in contents {
        let path = directory.join(file);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, content)?;
        replaced.insert(tree.join(file), path);
    }
    let list = directory.join("overlay.json");
    std::fs::write(&list, json!({ "Replace": replaced }).to_string())?;
    Ok(list)
}

// === impl Hook ===

impl Hook {
    /// Returns the file's text with the lines inserted.
    fn insert(&self, text: &str) -> Result<String, Failure> {
        let found = text.lines().filter(|line| line.trim() == self.anchor).count();
        if found != 1 {
            return Err(format!(
                "{}: the line `{}` occurs {found} times, not once: this is not Kubernetes v1.36, or the test server \
                 was changed; look for the place where it starts, and correct HOOKS in xtask/src/integration/overlay.rs",
                self.file, self.anchor
            )
            .into());
        }
        let mut result = String::with_capacity(text.len() + self.lines.len());
        for line in text.lines() {
            let lines = match self.side {
                _ if line.trim() != self.anchor => [line, ""],
                Side::Before => [self.lines, line],
                Side::After => [line, self.lines],
            };
            for line in lines.iter().filter(|line| !line.is_empty()) {
                result.push_str(line);
                result.push('\n');
            }
            if line.is_empty() {
                result.push('\n');
            }
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOK: Hook =
        Hook { file: "a.go", anchor: "config, err := s.Config()", side: Side::Before, lines: "hook()" };

    #[test]
    fn lines_are_inserted_beside_the_anchor() {
        let text = "func a() {\n\n\tconfig, err := s.Config()\n}\n";
        let before = HOOK.insert(text).expect("an anchor");
        assert_eq!(before, "func a() {\n\nhook()\n\tconfig, err := s.Config()\n}\n");
        let after = Hook { side: Side::After, ..HOOK }.insert(text).expect("an anchor");
        assert_eq!(after, "func a() {\n\n\tconfig, err := s.Config()\nhook()\n}\n");
    }

    #[test]
    fn a_missing_anchor_names_the_file_and_the_line() {
        let error = HOOK.insert("func a() {}\n").expect_err("no anchor").to_string();
        assert!(
            error.starts_with("a.go: the line `config, err := s.Config()` occurs 0 times, not once"),
            "{error}"
        );
    }
}
