//! The data folder of a local lane: `queue.db`, `archive.db`, `dev-secret`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Where a local lane keeps its data unless told otherwise.
pub(crate) const DEFAULT: &str = "eventlane-data";

/// Bytes of the random dev secret; written as twice as many hex digits.
const SECRET_BYTES: usize = 32;

pub(crate) struct DataFolder(PathBuf);

impl DataFolder {
    /// The folder, made where missing, for its owner's eyes only: payloads and identities are in it.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).with_context(|| format!("data folder {} can't be made", path.display()))?;
        Ok(Self(path.to_owned()))
    }

    pub(crate) fn queue(&self) -> PathBuf {
        self.0.join("queue.db")
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.0.join("archive.db")
    }

    pub(crate) fn outbox(&self) -> PathBuf {
        self.0.join("outbox.db")
    }

    fn secret_path(&self) -> PathBuf {
        self.0.join("dev-secret")
    }

    /// The folder's own random secret, made on first use, for its owner's eyes only.
    pub(crate) fn dev_secret(&self) -> anyhow::Result<String> {
        let path = self.secret_path();
        if !path.exists() {
            let mut bytes = [0u8; SECRET_BYTES];
            // Version 4 UUIDs come from the operating system's random source; two make a secret.
            for half in bytes.chunks_mut(16) {
                half.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
            }
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            write_private(&path, &text)?;
        }
        read_secret(&path)
    }
}

/// The secret in a file, without the line break at its end.
pub(crate) fn read_secret(path: &Path) -> anyhow::Result<String> {
    let text =
        fs::read_to_string(path).with_context(|| format!("secret file {} can't be read", path.display()))?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        bail!("secret file {} is empty", path.display());
    }
    Ok(secret.to_owned())
}

/// Writes aside and links into place: whoever comes second takes what the first wrote.
fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let shown = path.display();
    let aside = path.with_extension(uuid::Uuid::new_v4().simple().to_string());
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&aside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("secret file {shown} can't be written"))?;
    let linked = fs::hard_link(&aside, path);
    fs::remove_file(&aside).with_context(|| format!("secret file {shown} can't be written"))?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("secret file {shown} can't be written"))
        }
        _ => Ok(()),
    }
}
