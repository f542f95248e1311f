//! `apiserver test --assets`, `--index`: the programs that controller-runtime's envtest starts, as a directory, and as an
//! archive with an index.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::options::TestCommand;
use crate::version::{architecture, kubernetes_version};

use super::error::CommandError;
use super::etcd::VERSION_MARK;
use super::print;

use index::{Archive, Index};

mod archive;
mod index;

const SERVER: &str = "kube-apiserver";
const STORE: &str = "etcd";
const CLIENT: &str = "kubectl";

/// Name of the index.
const INDEX: &str = "envtest-releases.yaml";

/// Writes what a command asks for.
///
/// # Errors
/// Fails if a file cannot be written, or would replace that of somebody else.
pub(super) fn write(command: &TestCommand, is_extension: bool) -> Result<(), CommandError> {
    if is_extension {
        return Err(CommandError::ExtensionAssets);
    }
    let own = std::env::current_exe().map_err(CommandError::NoProgram)?;
    let client = client_in_path();
    if let Some(directory) = &command.assets {
        write_directory(directory, &own, client.as_deref())?;
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        print(format!("export KUBEBUILDER_ASSETS={}\n", directory.display()))?;
    }
    if let Some(directory) = &command.index {
        write_index(directory, &command.index_url, &own, client.as_deref())?;
    }
    Ok(())
}

/// Writes the directory. The server is a copy, so that the directory can be kept, moved, and mounted where this program is
/// not; etcd is a hard link to it, which takes no space. kubectl is a symbolic link: it may be a script that finds
/// its files beside itself.
fn write_directory(directory: &Path, own: &Path, client: Option<&Path>) -> Result<(), CommandError> {
    create(directory)?;
    let (server, store) = (directory.join(SERVER), directory.join(STORE));
    for path in [&server, &store] {
        if path.symlink_metadata().is_ok() && !is_own_program(path) {
            return Err(CommandError::OtherProgram(path.clone()));
        }
    }
    let copy = |source: &Path, target: &Path| {
        fs::copy(source, target)?;
        fs::set_permissions(target, Permissions::from_mode(0o755))
    };
    replace(&server, |temporary| copy(own, temporary)).map_err(CommandError::write(&server))?;
    let link = |temporary: &Path| fs::hard_link(&server, temporary).or_else(|_| copy(&server, temporary));
    replace(&store, link).map_err(CommandError::write(&store))?;
    let link = directory.join(CLIENT);
    let is_there = link.symlink_metadata().is_ok_and(|metadata| !metadata.is_symlink());
    if let Some(client) = client.filter(|_| !is_there) {
        replace(&link, |temporary| symlink(client, temporary)).map_err(CommandError::write(&link))?;
    }
    Ok(())
}

/// Creates a directory that everybody can read, as the programs in it are no secret. One that exists is left as it is.
fn create(directory: &Path) -> Result<(), CommandError> {
    if directory.is_dir() {
        return Ok(());
    }
    let created = fs::create_dir_all(directory)
        .and_then(|()| fs::set_permissions(directory, Permissions::from_mode(0o755)));
    created.map_err(CommandError::write(directory))
}

/// Makes a file under another name in the same directory, and renames it: a program that runs cannot be written to.
fn replace(path: &Path, make: impl Fn(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().display();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let made = make(&temporary).and_then(|()| fs::rename(&temporary, path));
    if made.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    made
}

/// Whether a program is this one, of any version.
fn is_own_program(path: &Path) -> bool {
    let asked = Command::new(path).arg0(STORE).arg("--version").stdin(Stdio::null()).output();
    asked.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(VERSION_MARK))
}

/// Returns the kubectl in PATH.
fn client_in_path() -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths).filter(|directory| directory.is_absolute());
    found.map(|directory| directory.join(CLIENT)).find(is_program)
}

/// Writes the archive and the index.
fn write_index(directory: &Path, url: &str, own: &Path, client: Option<&Path>) -> Result<(), CommandError> {
    create(directory)?;
    let index = directory.join(INDEX);
    let releases = Index::open(index.clone())?;
    let version = kubernetes_version();
    let name = format!("envtest-{version}-{}-{}.tar.gz", system(), architecture());
    // A script or a package's launcher does not work elsewhere.
    let client = client.and_then(|path| path.canonicalize().ok()).filter(|path| is_binary(path));
    let mut programs = vec![(SERVER, own), (STORE, own)];
    programs.extend(client.as_deref().map(|client| (CLIENT, client)));
    let path = directory.join(&name);
    let hash = archive::write(&path, &programs).map_err(CommandError::write(&path))?;
    let link = format!("{}/{name}", url.trim_end_matches('/'));
    releases.add(version, &name, Archive { hash, link })?;
    for file in [&path, &index] {
        fs::set_permissions(file, Permissions::from_mode(0o644)).map_err(CommandError::write(file))?;
    }
    let number = version.trim_start_matches('v');
    let path = path.display();
    print(format!(
        "{}\n{path}\n\nOnce they are found at {url}:\n  setup-envtest use {number} --index {}/{INDEX}\nWithout a server of files:\n  \
         setup-envtest sideload {number} < {path}\n",
        index.display(),
        url.trim_end_matches('/'),
    ))?;
    if client.is_none() {
        print("\nThere is no kubectl in the archive, because PATH has none that can be copied.\n")?;
    }
    Ok(())
}

/// Returns the operating system, under the name that Go uses.
fn system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

/// Whether a file is kubectl itself.
fn is_binary(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(CLIENT));
    let mut start = [0; 2];
    let read = fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    is_named && read.is_ok() && start != *b"#!"
}
