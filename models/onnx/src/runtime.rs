//! ONNX Runtime, loaded once a process from a library file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::ep::ExecutionProvider as _;
use ort::logging::LogLevel;

/// The loaded library and its environment. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    environment: Environment,
    library: PathBuf,
}

/// The runtime of this process. ONNX Runtime allows one environment, and it
/// cannot be loaded a second time, so it is never dropped.
static LOADED: Mutex<Option<Runtime>> = Mutex::new(None);

/// Why ONNX Runtime cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no such file.
    #[error(
        "there is no ONNX Runtime library at {}; get it with: scripts/setup.sh",
        path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// Why it could not be opened.
        #[source]
        source: io::Error,
    },
    /// The file is not a library that this program can use.
    #[error(
        "{} is not a usable ONNX Runtime library (1.{} or newer); get one with: scripts/setup.sh",
        path.display(),
        ort::MINOR_VERSION
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ort::LoadDynamicError,
    },
    /// Another library is loaded already.
    #[error(
        "ONNX Runtime is loaded from {} already; a process can load one library, not also {}",
        loaded.display(),
        path.display()
    )]
    Other {
        /// The library in use.
        loaded: PathBuf,
        /// The library asked for.
        path: PathBuf,
    },
    /// The library refused to start.
    #[error("ONNX Runtime at {} does not start", path.display())]
    Start {
        /// The library.
        path: PathBuf,
        /// What it said.
        #[source]
        source: ort::Error,
    },
}

impl Runtime {
    /// Loads the library, or gives the one that is loaded if it is the same
    /// file. Its warnings and errors go to `tracing`; it sends no telemetry.
    ///
    /// # Errors
    /// When there is no library at `path`, when it is not ONNX Runtime of a
    /// new enough version, or when another one is loaded already.
    pub fn load(path: &Path) -> Result<Self, RuntimeError> {
        let library = path
            .canonicalize()
            .map_err(|source| RuntimeError::Missing {
                path: path.to_owned(),
                source,
            })?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*loaded {
            return if runtime.library == library {
                Ok(runtime.clone())
            } else {
                Err(RuntimeError::Other {
                    loaded: runtime.library.clone(),
                    path: library,
                })
            };
        }
        let builder = ort::init_from(&library).map_err(|source| RuntimeError::Unusable {
            path: library.clone(),
            source,
        })?;
        let environment = builder
            .with_name("quire")
            .with_telemetry(false)
            .build()
            .map_err(|source| RuntimeError::Start {
                path: library.clone(),
                source,
            })?;
        environment.set_log_level(LogLevel::Warning);
        let runtime = Self {
            environment,
            library,
        };
        *loaded = Some(runtime.clone());
        Ok(runtime)
    }

    /// The library's file, with links resolved.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// What the library says about its build: branch, commit, build type.
    pub fn build_info(&self) -> &'static str {
        ort::info()
    }

    /// Whether the library was built with CUDA. Says nothing about the machine.
    pub fn has_cuda(&self) -> bool {
        ort::ep::CUDA::is_available().unwrap_or(false)
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}

/// The instruction sets of this processor that decide how ONNX Runtime
/// rounds, such as `x86_64 avx2 fma avx512f avx512vnni`. Vectors are equal bit
/// for bit between machines where this is equal, and may differ in the last
/// bits where it is not.
pub fn cpu_features() -> String {
    let mut names = vec![std::env::consts::ARCH];
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! seen {
            ($($name:tt),*) => {
                [$(($name, std::arch::is_x86_feature_detected!($name))),*]
            };
        }
        let seen = seen![
            "sse4.1",
            "avx",
            "avx2",
            "fma",
            "f16c",
            "avx512f",
            "avx512bw",
            "avx512dq",
            "avx512vl",
            "avx512vnni",
            "avx512bf16",
            "avx512fp16",
            "avxvnni",
            "avxvnniint8"
        ];
        names.extend(seen.iter().filter(|(_, has)| *has).map(|(name, _)| *name));
    }
    #[cfg(target_arch = "aarch64")]
    {
        macro_rules! seen {
            ($($name:tt),*) => {
                [$(($name, std::arch::is_aarch64_feature_detected!($name))),*]
            };
        }
        let seen = seen!["neon", "dotprod", "fp16", "i8mm", "bf16", "sve"];
        names.extend(seen.iter().filter(|(_, has)| *has).map(|(name, _)| *name));
    }
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_the_command_that_gets_it() {
        let error = Runtime::load(Path::new("/nowhere/libonnxruntime.so")).unwrap_err();
        assert!(matches!(error, RuntimeError::Missing { .. }));
        assert!(error.to_string().contains("/nowhere/libonnxruntime.so"));
        assert!(error.to_string().ends_with("scripts/setup.sh"));
    }

    #[test]
    fn the_processors_features_begin_with_its_architecture() {
        assert!(cpu_features().starts_with(std::env::consts::ARCH));
    }
}
