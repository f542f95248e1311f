//! Empty values of every flag of kube-apiserver mean what they mean there.

use super::*;

const EMPTY: &str = include_str!("empty.txt");

/// Returns the flags and the meanings of their empty values.
fn meanings() -> Vec<(&'static str, &'static str)> {
    let lines = EMPTY.lines().filter(|line| !line.starts_with('#'));
    let meanings = lines.map(|line| line.split_once(" | ").expect("a flag and a meaning"));
    meanings.collect()
}

/// Returns the values of all flags.
fn values(flags: &[String]) -> Result<std::collections::BTreeMap<String, String>, String> {
    let arguments = ["apiserver".to_owned()].into_iter().chain(flags.iter().cloned());
    let options = Options::from_arguments(arguments).map_err(|error| error.to_string())?;
    options.validate().map_err(|error| error.to_string())?;
    Ok(options.flags())
}

#[test]
fn an_empty_value_of_every_flag_is_as_in_kubernetes() {
    let known: Vec<&str> = meanings().into_iter().map(|(flag, _)| flag).collect();
    assert_eq!(known, KUBERNETES_FLAGS.lines().collect::<Vec<_>>());
    let (directory, defaults) = (files(&["f"]), values(&[]).unwrap());
    let file = directory.path().join("f").display().to_string();
    let mut wrong = Vec::new();
    for (flag, meaning) in meanings() {
        let empty = format!("--{flag}=");
        let apart = [format!("--{flag}"), String::new()];
        let found = values(std::slice::from_ref(&empty));
        match meaning.split_once(' ').unwrap_or((meaning, "")) {
            ("-" | "checked", _) => {}
            ("none", _) => {
                let replaced = values(&[format!("--{flag}=\u{1}"), empty]);
                for found in [found, values(&apart), replaced] {
                    if found.as_ref() != Ok(&defaults) {
                        wrong.push(format!("{flag}: {:?}", found.map(|all| all[flag].clone())));
                    }
                }
            }
            ("kept", _) => {
                if found.as_ref() != Ok(&defaults) || values(&apart).as_ref() != Ok(&defaults) {
                    wrong.push(format!("{flag}: {:?}", found.map(|all| all[flag].clone())));
                }
            }
            (_, with) => {
                let with: Vec<String> =
                    with.split_whitespace().map(|flag| flag.replace("FILE", &file)).collect();
                match values(&[&[empty][..], &with].concat()) {
                    Ok(_) => wrong.push(format!("{flag} is accepted")),
                    Err(error) if error.contains(flag) || error.contains("audit") => {}
                    Err(error) => wrong.push(format!("{flag}: {error}")),
                }
                if !with.is_empty() && values(&[format!("--{flag}=")]).is_err() {
                    wrong.push(format!("{flag} is refused without {with:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_template_without_any_value_is_a_command_line_without_flags() {
    let is_text = |meaning: &str| matches!(meaning, "none" | "kept");
    let all = meanings().into_iter().filter(|(_, meaning)| is_text(meaning));
    let all: Vec<String> = all.map(|(flag, _)| format!("--{flag}=")).collect();
    assert!(all.len() > 60, "{}", all.len());
    assert_eq!(values(&all), values(&[]));
}

#[test]
fn earlier_values_count_before_an_empty_one_for_lists_and_addresses_only() {
    let given = |flags: &[&str]| values(&flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>());
    for (flags, flag, value) in [
        (&["--bind-address=192.0.2.1", "--bind-address="][..], "bind-address", "192.0.2.1"),
        (&["--api-audiences=a", "--api-audiences=", "--api-audiences=b"], "api-audiences", "a,b"),
        (&["--runtime-config=apps/v1=true,,", "--runtime-config="], "runtime-config", "apps/v1=true"),
        (&["--cert-dir=a", "--cert-dir", "b", "--cert-dir", ""], "cert-dir", ""),
        (&["--cert-dir=a", "--cert-dir=", "--cert-dir=c"], "cert-dir", "c"),
        (&["--vmodule=a=1", "--vmodule="], "vmodule", ""),
        (&["--vmodule", "a=1", "--vmodule", ""], "vmodule", ""),
        (&["--etcd-prefix=a", "--etcd-prefix="], "etcd-prefix", ""),
        (&["--data-dir=a", "--data-dir="], "data-dir", ""),
        (&["--watch-cache=F", "--profiling=0"], "watch-cache", "false"),
        (&["--service-account-lookup=True"], "service-account-lookup", "true"),
    ] {
        assert_eq!(given(flags).map(|all| all[flag].clone()).as_deref(), Ok(value), "{flags:?}");
    }
    for flags in [
        &["--watch-cache="][..],
        &["--watch-cache=tRue"],
        &["--api-audiences=a", "--", "--api-audiences="],
        &["--=", "--cert-dir="],
        &["="],
        &[""],
        &["--cert-dir"],
        &["--runtime-config=,apps/v1=true,x"],
    ] {
        assert!(given(flags).is_err(), "{flags:?}");
    }
}

#[test]
fn keys_begin_with_a_slash_whatever_the_prefix() {
    for (prefix, expected) in [
        ("/registry", "/registry"),
        ("registry", "/registry"),
        ("6d0b7a9e/registry", "/6d0b7a9e/registry"),
        ("/a//b/", "/a/b"),
        ("a/./b/../c", "/a/c"),
        ("../..", ""),
        ("/", ""),
        ("", ""),
    ] {
        let options = Options::from_arguments(["apiserver", &format!("--etcd-prefix={prefix}")]).unwrap();
        options.validate().unwrap();
        assert_eq!(options.storage.key_prefix(), expected, "{prefix}");
    }
}
