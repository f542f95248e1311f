//! `cargo xtask codegen`: the files that are generated from the annotated structs.

mod documents;
mod field_numbers;
mod guide;
mod output;
pub(crate) mod scan;
mod storage_map;
mod views;

use std::path::PathBuf;

use clap::Args;

use crate::Failure;
use crate::workspace::{Package, Workspace};
use output::Output;
use scan::Resources;

/// Write the storage maps and the resource reference from the annotated structs.
///
/// Looks through every package whose Cargo.toml says `[package.metadata.orlop] resources = true` for structs with
/// `#[derive(Resource)]`, and writes each package's `src/generated/storage_map.rs`, the module that holds it, the lock
/// file that pins the protobuf field numbers of its own structs, `docs/reference/resources.md`, the reference of attributes,
/// `docs/reference/attributes.md`, from the table of facts about Kubernetes' types their typed views,
/// `resources/views/src/generated`, and the parts of sources that pages of the guide show.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a file differs from what would be written
    #[arg(long)]
    check: bool,
    /// Also write the tables of facts about Kubernetes' types, from this directory with its specifications
    #[arg(long, value_name = "DIR")]
    upstream: Option<PathBuf>,
    /// Also write the table of the values of enumerated fields, from this checkout of Kubernetes
    #[arg(long, value_name = "TREE", requires = "upstream")]
    kubernetes: Option<PathBuf>,
    /// Also write the reference of the flags, `docs/reference/flags.md`, for which the server is built
    #[arg(long)]
    flags: bool,
}

/// One package's resources.
pub(crate) struct Crate<'a> {
    pub(crate) package: &'a Package,
    pub(crate) resources: Resources,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    let mut outputs = outputs(&workspace)?;
    if let Some(upstream) = &options.upstream {
        let tables = crate::facts::generate(upstream, options.kubernetes.as_deref())?;
        outputs.extend(
            tables.into_iter().map(|(path, bytes)| Output { path: workspace.root.join(path), bytes }),
        );
    }
    if options.flags {
        outputs.push(flags_reference(&workspace)?);
    }
    if options.check { output::check(&workspace, &outputs) } else { output::write(&workspace, &outputs) }
}

/// Returns the contents of every generated file.
fn outputs(workspace: &Workspace) -> Result<Vec<Output>, Failure> {
    let mut crates = Vec::new();
    for package in workspace.resource_packages() {
        crates.push(Crate { package, resources: scan::scan(workspace, package)? });
    }
    let mut outputs = Vec::new();
    for found in &crates {
        outputs.push(storage_map::emit(found));
        outputs.push(storage_map::emit_module(found)?);
        outputs.extend(field_numbers::emit(workspace, found)?);
    }
    outputs.push(documents::emit(workspace, &crates));
    outputs.extend(documents::emit_attributes(workspace)?);
    outputs.extend(views::emit(workspace)?);
    outputs.extend(guide::emit(workspace)?);
    Ok(outputs)
}

/// Returns the reference of the flags, as the server prints it.
fn flags_reference(workspace: &Workspace) -> Result<Output, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["run", "--package", "apiserver", "--", "flags-reference"];
    let mut command = std::process::Command::new(cargo);
    // What cargo compiles or waits for is seen.
    command.args(arguments).current_dir(&workspace.root).stderr(std::process::Stdio::inherit());
    let printed = command.output()?;
    if !printed.status.success() {
        return Err(format!("no reference of the flags: the server ended with {}", printed.status).into());
    }
    Ok(Output { path: workspace.root.join("docs/reference/flags.md"), bytes: printed.stdout })
}
