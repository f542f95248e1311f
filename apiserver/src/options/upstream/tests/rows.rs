//! Every flag of kube-apiserver is tested: what this server implements is observed by the tests that `rows.txt` names,
//! the others are accepted or refused as their table says.

use std::fs;
use std::path::Path;

use super::*;

const ROWS: &str = include_str!("rows.txt");

/// A value that is far too long for every flag.
const OVERLONG_BYTES: usize = 64 * 1024;

/// An implemented flag: a value, a value that is refused, and the tests of the effect. `-` stands for no value.
struct Row {
    flag: &'static str,
    good: Vec<String>,
    bad: Vec<String>,
    tests: Vec<(&'static str, &'static str)>,
}

/// Returns the rows. `FILE` in values is the path of a file.
fn rows(file: &Path) -> Vec<Row> {
    let lines = ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [flag, good, bad, tests] = cells[..] else { panic!("four cells: {line}") };
        let flags = |cell: &str| match cell {
            "-" => Vec::new(),
            cell => {
                let given = format!("--{flag}={cell}").replace("FILE", &file.display().to_string());
                given.split(' ').map(str::to_owned).collect()
            }
        };
        let tests = tests.split(' ').map(|test| test.split_once("::").expect("a file and a test"));
        Row { flag, good: flags(good), bad: flags(bad), tests: tests.collect() }
    });
    rows.collect()
}

fn tried(flags: &[String]) -> Result<(), String> {
    parse(&flags.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether a source has a test of this name: one that runs.
fn has_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else { return false };
    let attributes = before.trim_end().trim_end_matches("async").trim_end();
    let lines = attributes.lines().rev().take_while(|line| line.trim_start().starts_with("#["));
    let lines: Vec<&str> = lines.collect();
    let is_test = lines.iter().any(|line| line.contains("#[test]") || line.contains("#[tokio::test"));
    is_test && !lines.iter().any(|line| line.contains("ignore"))
}

#[test]
fn every_implemented_flag_has_a_test_of_its_effect() {
    let mut wanted: BTreeSet<&str> = KUBERNETES_FLAGS.lines().collect();
    for flag in FLAGS {
        assert!(wanted.remove(flag.name), "{}", flag.name);
    }
    let known: Vec<&str> = rows(Path::new("f")).iter().map(|row| row.flag).collect();
    assert_eq!(known, wanted.into_iter().collect::<Vec<_>>(), "a flag has no row, or a row no flag");
    for row in rows(Path::new("f")) {
        let flag = row.flag;
        let mut names_the_flag = flag == "v";
        for (file, test) in row.tests {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{flag}: {file}: {error}"));
            assert!(has_test(&source, test), "{flag}: there is no test {test} in {file}");
            // Helpers that start servers are in other files of a set of tests.
            let helpers = ["main.rs", "process.rs"].map(|name| fs::read_to_string(path.with_file_name(name)));
            let named = [format!("--{flag}="), format!("--{flag}\""), format!("\"--{flag}")];
            let names = |text: &String| named.iter().any(|name| text.contains(name));
            names_the_flag |= names(&source) || helpers.iter().flatten().any(names);
        }
        assert!(names_the_flag, "no test of {flag} names it");
    }
    assert!(!has_test("fn a() {}\n#[test]\n#[ignore]\nfn b() {}", "b"));
    assert!(!has_test("#[test]\nfn a() {}\n\nfn b() {}", "b"));
    assert!(has_test("#[tokio::test]\nasync fn b() {}", "b"));
}

#[test]
fn values_are_accepted_also_repeatedly_and_wrong_ones_refused() {
    let directory = files(&["f"]);
    let mut wrong = Vec::new();
    for row in rows(&directory.path().join("f")) {
        let flag = row.flag;
        if let Err(error) = tried(&row.good) {
            wrong.push(format!("{:?}: {error}", row.good));
        }
        // A list grows, and so it may refuse what it has already; of other values the last one counts.
        if let Err(error) = tried(&[row.good.clone(), row.good].concat())
            && !["already", "more than once", "duplicate version flag"]
                .iter()
                .any(|word| error.contains(word))
        {
            wrong.push(format!("{flag} repeated: {error}"));
        }
        if !row.bad.is_empty() && tried(&row.bad).is_ok() {
            wrong.push(format!("{:?} is accepted", row.bad));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hostile_values_of_every_flag_end_in_an_answer() {
    let overlong = "x".repeat(OVERLONG_BYTES);
    let mut unnamed = Vec::new();
    for flag in KUBERNETES_FLAGS.lines() {
        for value in ["", " ", "\u{0}", "\u{fffd}\n", "-1", "99999999999999999999", "true,false", &overlong] {
            // What is refused is named. What is accepted is text, which nothing can be wrong with before it is used.
            if let Err(error) = parse(&[&format!("--{flag}={value}")]) {
                let names = [flag, &flag.replace('-', "_"), "Usage"];
                let is_named = names.iter().any(|name| error.contains(name)) || error.contains("must be");
                if !is_named {
                    unnamed.push(format!("{flag}={:?}: {error}", value.get(..20).unwrap_or(value)));
                }
            }
        }
    }
    assert!(unnamed.is_empty(), "{}", unnamed.join("\n"));
}

#[test]
fn flags_of_the_table_are_accepted_or_refused_as_it_says() {
    for Flag { name, effect } in FLAGS {
        let given = |value: &str| parse(&[&format!("--{name}={value}")]);
        match effect {
            Effect::Refused { why, instead } => {
                for value in ["x", "true"] {
                    let error = given(value).expect_err(name);
                    assert!(error.contains(why) && error.contains(instead), "{name}={value}: {error}");
                }
            }
            Effect::Accepted { value, why } => {
                assert!(!why.is_empty(), "{name}");
                let (good, bad): (&[&str], &[&str]) = match value {
                    Values::Only(values) => (values, &["zork", "-1"]),
                    Values::Bool => (&["true", "false"], &["yes", "", "1x"]),
                    Values::Duration => (&["5s", "1h30m"], &["5", "", "-5s"]),
                    Values::Count => (&["0", "7"], &["zork", "", "1.5"]),
                    Values::Quantity => (&["64Ki", "0"], &["zork", "", "-"]),
                    Values::Text => (&["anything"], &[]),
                };
                for value in good {
                    assert_eq!(given(value), Ok(()), "{name}={value}");
                    let flag = format!("--{name}={value}");
                    assert_eq!(parse(&[&flag, &flag]), Ok(()), "{name} twice");
                }
                for value in bad {
                    let error = given(value).expect_err(name);
                    assert!(error.contains(name), "{name}={value}: {error}");
                }
            }
        }
    }
}

#[test]
fn help_and_version_are_printed() {
    for (flag, shown) in [("--help", "--secure-port"), ("--version", env!("CARGO_PKG_VERSION"))] {
        let printed = Options::from_arguments(["apiserver", flag]).expect_err("it is printed").to_string();
        assert!(printed.contains(shown), "{flag}: {printed}");
    }
}

#[test]
fn durations_of_health_and_shutdown_are_carried() {
    let options = Options::from_arguments(["apiserver", "--livez-grace-period=7s"]).unwrap();
    assert_eq!(options.http.livez_grace_period, std::time::Duration::from_secs(7));
}
