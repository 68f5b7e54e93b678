//! Where things lie: the home folder holds the runtime library, the built
//! models and, unless set otherwise, the data.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::args::GlobalArgs;
use crate::settings::Settings;

/// The folders quire works with.
#[derive(Debug, Clone)]
pub struct Home {
    /// The runtime library and the built models.
    pub root: PathBuf,
    /// The indexes.
    pub data: PathBuf,
}

impl Home {
    pub fn find(settings: &mut Settings, global: &GlobalArgs) -> Result<Self> {
        let root = match settings.path("home", global.home.clone())? {
            Some(root) => root,
            None => default_root()?,
        };
        let data = settings
            .path("data", global.data.clone())?
            .unwrap_or_else(|| root.join("data"));
        Ok(Self { root, data })
    }

    /// The ONNX Runtime library: ORT_DYLIB_PATH, else the one scripts/setup.sh
    /// put here.
    pub fn runtime_library(&self) -> PathBuf {
        let name = if cfg!(target_os = "macos") {
            "libonnxruntime.dylib"
        } else if cfg!(windows) {
            "onnxruntime.dll"
        } else {
            "libonnxruntime.so"
        };
        match env::var_os("ORT_DYLIB_PATH") {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => self.root.join("runtime").join(name),
        }
    }
}

/// A binary built in a checkout uses the checkout's `.quire`; an installed one
/// the user's data folder.
fn default_root() -> Result<PathBuf> {
    let checkout = env::current_exe().ok().and_then(|exe| {
        exe.ancestors()
            .skip(1)
            .map(|dir| dir.join(".quire"))
            .find(|d| d.is_dir())
    });
    if let Some(checkout) = checkout {
        return Ok(checkout);
    }
    let folder = match env::var_os("XDG_DATA_HOME") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => {
            let home = env::var_os("HOME")
                .context("HOME is not set; say where to work with --home DIR or QUIRE_HOME")?;
            Path::new(&home).join(".local").join("share")
        }
    };
    Ok(folder.join("quire"))
}
