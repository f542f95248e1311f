//! `cargo xtask new`: creates a new resource.

mod project;
mod template;

use std::path::{Path, PathBuf};

use clap::Args;
use registry_grammar::ResourceModel;

use crate::Failure;
use crate::codegen::scan::scan;
use crate::workspace::{Package, Workspace};
use template::Names;

/// The dependencies of the written file.
const DEPENDENCIES: [&str; 5] = ["k8s-openapi", "registry-core", "registry-derive", "schemars", "serde"];

/// Write an annotated, documented resource to start from.
///
/// Adds a file to the package, in a folder per API group, declares its modules, and says what to do next. With --crate it
/// writes a whole project outside of this workspace: an extension server of the resource, with a test.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:\n  cargo xtask new zoo.example.dev/v1 Keeper --package zoo\n  \
                        cargo xtask new harbor.example.dev/v1 Ship --crate ../harbor")]
pub(crate) struct Options {
    /// The API group and version, for example `zoo.example.dev/v1`; `v1` alone is the core group
    #[arg(value_name = "GROUP/VERSION")]
    group_version: String,
    /// The kind, in CamelCase, for example `Enclosure`
    #[arg(value_name = "KIND")]
    kind: String,
    /// The workspace package the file goes to
    #[arg(long, default_value = "orlop-resources")]
    package: String,
    /// The folder of a new project, whose name is that of its package
    #[arg(long = "crate", value_name = "FOLDER", conflicts_with = "package")]
    project: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    if let Some(folder) = &options.project {
        let names = Names::new(&options.group_version, &options.kind)?;
        for file in project::write(folder, &names, &workspace)? {
            println!("wrote {}", file.display());
        }
        println!("\nNext:\n  cd {} && cargo test", folder.display());
        return Ok(());
    }
    let package = workspace
        .packages
        .iter()
        .find(|package| package.name == options.package)
        .ok_or_else(|| format!("the workspace has no package `{}`", options.package))?;
    let names = Names::new(&options.group_version, &options.kind)?;
    check_is_new(&workspace, package, &names)?;
    let written = write(package, &names)?;
    for file in &written {
        println!("wrote {}", workspace.shown(file));
    }
    println!("\nNext:\n{}", next_steps(package, &names));
    Ok(())
}

/// Refuses a kind that the package has.
fn check_is_new(workspace: &Workspace, package: &Package, names: &Names) -> Result<(), Failure> {
    // Sources that are being edited may not be readable. The compiler reports a second declaration too.
    let Ok(present) = scan(workspace, package) else {
        return Ok(());
    };
    let api_version = names.api_version();
    let is_same = |model: &ResourceModel| model.api_version() == api_version && model.kind == names.kind;
    match present.declared.iter().find(|declared| is_same(&declared.model)) {
        Some(declared) => {
            Err(format!("{} declares {api_version} {} already: edit that file", declared.file, names.kind)
                .into())
        }
        None => Ok(()),
    }
}

/// Writes the resource and declares its modules. Returns the files that changed, the
/// resource's own first.
fn write(package: &Package, names: &Names) -> Result<Vec<PathBuf>, Failure> {
    let root_file = package.root_file()?;
    let source = root_file.parent().unwrap_or(root_file);
    // A package with many groups keeps them in a module of their own.
    let groups_file = Some(source.join("api.rs")).filter(|file| file.exists());
    let groups_folder = if groups_file.is_some() { source.join("api") } else { source.to_owned() };
    let group_file = groups_folder.join(format!("{}.rs", names.group_module));
    let file = groups_folder.join(&names.group_module).join(format!("{}.rs", names.module));
    if file.exists() {
        return Err(format!("{} exists already", file.display()).into());
    }
    let group_text = match std::fs::read_to_string(&group_file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => names.group_documentation(),
        Err(error) => return Err(error.into()),
    };
    let groups_file = groups_file.as_deref().unwrap_or(root_file);
    let groups_text = with_module(&std::fs::read_to_string(groups_file)?, &names.group_module);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let files = [
        (file, names.resource()),
        (group_file, with_module(&group_text, &names.module)),
        (groups_file.to_owned(), groups_text),
    ];
    let mut written = Vec::new();
    for (path, text) in files {
        written.extend(replace(path, &text)?);
    }
    let root_text = with_module(&std::fs::read_to_string(root_file)?, "generated");
    written.extend(replace(root_file.to_owned(), &root_text)?.filter(|root| !written.contains(root)));
    Ok(written)
}

/// Writes a file, and returns its path if its text is another one than before.
fn replace(path: PathBuf, text: &str) -> Result<Option<PathBuf>, Failure> {
    if std::fs::read_to_string(&path).is_ok_and(|present| present == text) {
        return Ok(None);
    }
    std::fs::write(&path, text)?;
    Ok(Some(path))
}

/// Returns a file's text with `pub mod name;` added: in order among its modules, or else after its documentation.
fn with_module(text: &str, name: &str) -> String {
    let declared = |line: &str| -> Option<String> {
        let rest = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
        rest.strip_suffix(';').map(|module| module.trim().to_owned())
    };
    let lines: Vec<&str> = text.lines().collect();
    if lines.iter().any(|line| declared(line).is_some_and(|module| module == name)) {
        return text.to_owned();
    }
    let next = lines.iter().position(|line| declared(line).is_some_and(|module| module.as_str() > name));
    let last = lines.iter().rposition(|line| declared(line).is_some()).map(|line| line + 1);
    let documentation_end =
        || lines.iter().take_while(|line| line.starts_with("//!") || line.is_empty()).count();
    let module = format!("pub mod {name};");
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if let Some(place) = next.or(last) {
        lines.insert(place, module);
    } else {
        let place = documentation_end();
        let blank_before = place > 0 && lines.get(place - 1).is_some_and(|line| !line.is_empty());
        let blank_after = lines.get(place).is_some();
        let block = [blank_before.then(String::new), Some(module), blank_after.then(String::new)];
        lines.splice(place..place, block.into_iter().flatten());
    }
    lines.join("\n") + "\n"
}

fn next_steps(package: &Package, names: &Names) -> String {
    let mut steps = Vec::new();
    let missing: Vec<&str> = DEPENDENCIES.into_iter().filter(|name| !package.depends_on(name)).collect();
    let manifest = package.folder().join(Path::new("Cargo.toml"));
    if !missing.is_empty() {
        steps.push(format!("add {} to the dependencies in {}", missing.join(", "), manifest.display()));
    }
    if !package.declares_resources() {
        steps.push(format!(
            "add `[package.metadata.orlop]` with `resources = true` to {}",
            manifest.display()
        ));
    }
    steps.push(format!("edit {}: its spec, its status, its rules", names.kind));
    steps.push(
        "run `cargo xtask codegen`, which adds its paths to the storage map, and the numbers of its fields in protobuf to \
         src/generated/field_numbers.lock: commit both, because stored and sent objects have these numbers"
            .to_owned(),
    );
    steps.push(format!("start the server and try `kubectl get {}`", names.plural));
    let numbered = steps.iter().zip(1..).map(|(step, number)| format!("  {number}. {step}"));
    numbered.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
