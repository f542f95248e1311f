//! The page of a run, and its plots.

use std::fmt::Write as _;
use std::path::Path;

use super::backend::Backend;
use super::figures::Figures;
use crate::Failure;
use crate::machine;
use crate::measurement::COLUMNS;
use crate::plot::Plot;

const BACKENDS: [Backend; 2] = [Backend::Embedded, Backend::Etcd];

/// Writes `README.md` and the plots into a directory.
pub(super) fn write(figures: &Figures, directory: &Path, minutes: f64) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("cannot write to {}: {error}", directory.display());
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut text = head(minutes);
    for (name, plot) in plots(figures) {
        if plot.lines.is_empty() {
            continue;
        }
        let file = format!("{name}.svg");
        std::fs::write(directory.join(&file), plot.svg()).map_err(failed)?;
        let _ = writeln!(text, "![{}]({file})\n", plot.title);
    }
    text.push_str(&tables(figures));
    std::fs::write(directory.join("README.md"), text).map_err(failed)?;
    println!("written: {}/README.md", directory.display());
    Ok(())
}

fn head(minutes: f64) -> String {
    format!(
        "# What it costs\n\nMade by `cargo xtask bench --suite` in {minutes:.0} minutes, all of it in one run. Machine: {}; load average at the end: {}.\n\
         The clients are one process beside the server, over TLS and HTTP/2; CPU is the server's own, user and system, from `/proc`.\n\
         Floods are processes of their own, of the lowest priority, so that the quiet tenant waits for the server and not for a processor.\n\
         kube-apiserver's figures: v1.36.2 over etcd on a 2-core machine of the same kind.\n\n",
        machine::describe(),
        machine::load(),
    )
}

fn plots(figures: &Figures) -> Vec<(&'static str, Plot)> {
    let plot = |title: &str, sizes: &str, workloads: &[&str], budget| Plot {
        title: title.to_owned(),
        sizes: sizes.to_owned(),
        lines: workloads
            .iter()
            .flat_map(|workload| BACKENDS.map(|backend| figures.line(backend, workload, workload)))
            .flatten()
            .collect(),
        budget,
    };
    vec![
        (
            "requests",
            plot("Server CPU of a GET and a CREATE, µs", "objects in the server", &["get", "create"], None),
        ),
        ("lists", plot("Server CPU of a LIST, µs", "objects in the list", &["list"], None)),
        (
            "watches",
            plot(
                "Server CPU of one event delivered to one watcher, µs",
                "watchers of the collection",
                &["watch"],
                Some(2.0),
            ),
        ),
        (
            "idle-watches",
            plot(
                "Server CPU of a CREATE that no watch is about, µs",
                "watches of other objects",
                &["create beside idle watches"],
                Some(100.0),
            ),
        ),
    ]
}

fn tables(figures: &Figures) -> String {
    let mut text =
        "## Beside the budgets\n\n| what | store | measured | budget | stands |\n|---|---|---|---|---|\n"
            .to_owned();
    for fact in &figures.facts {
        let _ = writeln!(text, "{}", fact.row());
    }
    for backend in BACKENDS {
        let mut own = figures.measurements.iter().filter(|(of, _)| *of == backend).peekable();
        if own.peek().is_none() {
            continue;
        }
        let _ = write!(text, "\n## Over the {} store\n\n{COLUMNS}", backend.name());
        for (_, row) in own {
            let _ = writeln!(text, "{}", row.row());
        }
    }
    text.push_str(
        "\nSize: objects in the server (`get`, `create`), in the list (`list`, `pods as …`), pods (`pod …`) or leases (`lease update`) in the server, watchers (`watch`), watches of other objects (`create beside idle watches`).\n\
         An operation of `watch` is one event of 1.5 KB delivered to one watcher; ninety of them share a connection, in `watch alone` each has its own.\n",
    );
    if !figures.failures.is_empty() {
        text.push_str("\n## Not measured\n\n");
        for failure in &figures.failures {
            let _ = writeln!(text, "- {failure}");
        }
    }
    text
}
