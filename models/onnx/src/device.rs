//! Where a model runs, and the proof that it does.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::Deserialize;

/// The device asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// The first CUDA device if it works, otherwise the processor; the
    /// [`DeviceChoice`] says which and why.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The CUDA device of that number, or an error.
    Cuda(u32),
}

/// The device a model runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChoice {
    /// Never [`Device::Auto`].
    pub device: Device,
    /// Why this one, for people.
    pub reason: String,
}

/// Not the name of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a device; say auto, cpu, cuda or cuda:NUMBER")]
pub struct ParseDeviceError {
    text: String,
    #[source]
    source: Option<ParseIntError>,
}

impl FromStr for Device {
    type Err = ParseDeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |source| ParseDeviceError {
            text: text.to_owned(),
            source,
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", number)) => number
                .parse()
                .map(Self::Cuda)
                .map_err(|source| wrong(Some(source))),
            _ => Err(wrong(None)),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// Why the CUDA device that was asked for is not used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The library knows no CUDA.
    #[error(
        "cuda:{number} was asked for, but this ONNX Runtime library is built without CUDA; \
         use the library of the onnxruntime-gpu package"
    )]
    NotBuilt {
        /// The device.
        number: u32,
    },
    /// The library could not start on the device: no driver, a missing
    /// library, no such device, too little memory.
    #[error("cuda:{number} was asked for, but the model cannot be loaded there")]
    Start {
        /// The device.
        number: u32,
        /// What ONNX Runtime said.
        #[source]
        source: ort::Error,
    },
    /// Part of the model ran on the processor instead.
    #[error(
        "cuda:{number} was asked for, but {elsewhere} of {products} matrix products ran \
         elsewhere ({example}); a model of another precision may run there whole"
    )]
    Elsewhere {
        /// The device.
        number: u32,
        /// Products not computed on the device.
        elsewhere: usize,
        /// All products.
        products: usize,
        /// One of them: operator and provider.
        example: String,
    },
    /// The profile of the proving run cannot be read.
    #[error("cannot tell where the model ran")]
    Profile(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// One event of ONNX Runtime's profile, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    args: Args,
}

#[derive(Debug, Default, Deserialize)]
struct Args {
    op_name: Option<String>,
    provider: Option<String>,
}

/// The operators that hold a transformer's work. What shapes, masks and
/// positions need may run on the processor wherever the model runs.
const PRODUCTS: [&str; 12] = [
    "MatMul",
    "FusedMatMul",
    "Gemm",
    "FusedGemm",
    "MatMulInteger",
    "DynamicQuantizeMatMul",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "Attention",
    "QAttention",
    "MultiHeadAttention",
    "QLinearMatMul",
];

/// The operator and the provider of every matrix product in a profile that
/// ONNX Runtime wrote.
///
/// # Errors
/// When the text is not such a profile.
pub(crate) fn matrix_products(profile: &str) -> Result<Vec<(String, String)>, DeviceError> {
    let events: Vec<Event> =
        serde_json::from_str(profile).map_err(|error| DeviceError::Profile(Box::new(error)))?;
    Ok(events
        .into_iter()
        .filter(|event| event.cat == "Node")
        .filter_map(|event| Some((event.args.op_name?, event.args.provider?)))
        .filter(|(operator, _)| PRODUCTS.contains(&operator.as_str()))
        .collect())
}

/// Checks that a profile shows every matrix product on the CUDA device.
///
/// # Errors
/// When one ran elsewhere, or there is none.
pub(crate) fn prove_cuda(number: u32, profile: &str) -> Result<(), DeviceError> {
    let products = matrix_products(profile)?;
    if products.is_empty() {
        return Err(DeviceError::Profile(
            "the profile of the proving run shows no matrix product".into(),
        ));
    }
    let mut elsewhere = products
        .iter()
        .filter(|(_, provider)| provider != "CUDAExecutionProvider");
    match elsewhere.next() {
        None => Ok(()),
        Some((operator, provider)) => Err(DeviceError::Elsewhere {
            number,
            elsewhere: 1 + elsewhere.count(),
            products: products.len(),
            example: format!("{operator} on {provider}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_written() {
        for device in [Device::Auto, Device::Cpu, Device::Cuda(0), Device::Cuda(3)] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for wrong in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "CPU"] {
            assert!(wrong.parse::<Device>().is_err(), "{wrong}");
        }
    }

    fn profile(nodes: &[(&str, &str)]) -> String {
        let mut events = vec![r#"{"cat":"Session","name":"model_run","args":{}}"#.to_owned()];
        events.extend(nodes.iter().map(|(operator, provider)| {
            format!(
                r#"{{"cat":"Node","name":"a","args":{{"op_name":"{operator}","provider":"{provider}"}}}}"#
            )
        }));
        format!("[{}]", events.join(","))
    }

    #[test]
    fn shapes_may_be_computed_on_the_processor_but_no_matrix_product() {
        let fine = [
            ("Shape", "CPUExecutionProvider"),
            ("MatMul", "CUDAExecutionProvider"),
        ];
        prove_cuda(0, &profile(&fine)).unwrap();
        let mixed = [
            ("MatMul", "CUDAExecutionProvider"),
            ("MatMulInteger", "CPUExecutionProvider"),
        ];
        let error = prove_cuda(1, &profile(&mixed)).unwrap_err().to_string();
        assert!(error.contains("1 of 2"), "{error}");
        assert!(
            error.contains("MatMulInteger on CPUExecutionProvider"),
            "{error}"
        );
    }

    #[test]
    fn a_profile_without_a_matrix_product_proves_nothing() {
        let only_shapes = profile(&[("Shape", "CUDAExecutionProvider")]);
        assert!(prove_cuda(0, &only_shapes).is_err());
        assert!(prove_cuda(0, "not json").is_err());
    }
}
