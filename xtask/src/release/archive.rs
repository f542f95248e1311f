//! The archive of a release, and the checksums of all its files.

use std::path::Path;
use std::process::Command;

use super::{output_of, printed_by};
use crate::Failure;

/// The files that are taken from the workspace.
const FILES: [&str; 4] = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"];

/// The completion scripts: the shell, and the place below `share` where packages put its script.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/apiserver"),
    ("zsh", "zsh/site-functions/_apiserver"),
    ("fish", "fish/vendor_completions.d/apiserver.fish"),
];

/// The file of the checksums, as `sha256sum --check` reads it.
const CHECKSUMS: &str = "SHA256SUMS";

/// The archive to write.
pub(super) struct Archive<'a> {
    /// The workspace.
    pub(super) root: &'a Path,
    /// The folder that the archive is written to.
    pub(super) folder: &'a Path,
    /// The name of the archive without its ending, and of the single folder in it.
    pub(super) name: String,
    pub(super) program: &'a Path,
}

// === impl Archive ===

impl Archive<'_> {
    /// Writes the archive. The same commit and program make the same bytes.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let content = self.folder.join(&self.name);
        std::fs::create_dir_all(content.join("bin"))?;
        std::fs::copy(self.program, content.join("bin/apiserver"))?;
        for file in FILES {
            std::fs::copy(self.root.join(file), content.join(file))?;
        }
        copy_folder(&self.root.join("deploy"), &content.join("deploy"))?;
        self.write_manual(&content, &[])?;
        for (shell, place) in COMPLETIONS {
            self.write_printed(&content, &format!("share/{place}"), &["completion", shell])?;
        }
        let time =
            output_of(Command::new("git").args(["log", "-1", "--format=@%ct"]).current_dir(self.root))?;
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
        tar.arg(format!("--mtime={time}")).arg("--directory").arg(self.folder);
        // `gzip -n` writes neither name nor time.
        tar.arg("--use-compress-program=gzip -n -9").arg("--create");
        tar.arg("--file").arg(self.folder.join(format!("{}.tar.gz", self.name))).arg(&self.name);
        output_of(&mut tar)?;
        std::fs::remove_dir_all(&content)?;
        Ok(())
    }

    /// Writes the manual page of the program or of a command, and those that it names.
    fn write_manual(&self, content: &Path, command: &[&str]) -> Result<(), Failure> {
        let name = [&["apiserver"], command].concat().join("-");
        let place = format!("share/man/man1/{name}.1");
        self.write_printed(content, &place, &[&["man-page"], command].concat())?;
        let page = std::fs::read_to_string(content.join(&place))?;
        for named in named_commands(&page, &name) {
            self.write_manual(content, &[command, &[named.as_str()]].concat())?;
        }
        Ok(())
    }

    /// Writes a file of what the program prints.
    fn write_printed(&self, content: &Path, place: &str, arguments: &[&str]) -> Result<(), Failure> {
        let path = content.join(place);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, printed_by(self.program, arguments)? + "\n")?;
        Ok(())
    }
}

/// Returns the commands whose manual pages a page names.
fn named_commands(page: &str, name: &str) -> Vec<String> {
    let prefix = format!("{name}-");
    let names = page.lines().filter_map(|line| {
        let line = line.replace("\\-", "-");
        Some(line.strip_prefix(&prefix)?.strip_suffix("(1)")?.to_owned())
    });
    names.collect()
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Writes the checksums of all files in a folder.
pub(super) fn write_checksums(folder: &Path) -> Result<(), Failure> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let sums = output_of(Command::new("sha256sum").arg("--").args(&names).current_dir(folder))?;
    std::fs::write(folder.join(CHECKSUMS), sums + "\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::*;

    fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
    }

    #[test]
    fn the_archive_has_all_files_and_the_same_bytes_each_time() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("program");
        std::fs::write(&program, "#!/bin/sh\necho \"$@\"\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut written = Vec::new();
        for name in ["first", "second"] {
            let folder = home.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            let root = workspace();
            let archive =
                Archive { root: &root, folder: &folder, name: "orlop-1.2.3".to_owned(), program: &program };
            archive.write().unwrap();
            write_checksums(&folder).unwrap();
            written.push(std::fs::read(folder.join("orlop-1.2.3.tar.gz")).unwrap());
            let check = ["--check", "--quiet", CHECKSUMS];
            output_of(Command::new("sha256sum").args(check).current_dir(&folder)).unwrap();
        }
        assert!(written[0] == written[1], "the archives differ");
        let list = ["--list", "--file", "first/orlop-1.2.3.tar.gz"];
        let list = output_of(Command::new("tar").args(list).current_dir(home.path())).unwrap();
        for file in [
            "bin/apiserver",
            "CHANGELOG.md",
            "deploy/kubernetes/one.yaml",
            "share/man/man1/apiserver.1",
            "share/zsh/site-functions/_apiserver",
        ] {
            assert!(list.contains(&format!("orlop-1.2.3/{file}")), "{file} is not in\n{list}");
        }
    }

    #[test]
    fn a_manual_page_names_the_pages_of_commands() {
        let page = ".SH SUBCOMMANDS\n.TP\norlop\\-storage(1)\nStores\n.TP\norlop\\-man\\-page(1)\nPages\norlop\\-x\n";
        assert_eq!(named_commands(page, "orlop"), ["storage", "man-page"]);
        assert!(named_commands(page, "orlop-storage").is_empty());
    }
}
