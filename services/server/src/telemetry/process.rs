//! What this process uses.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Memory and processor time of this process, read when metrics are asked for.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let memory = ConstGauge::new(resident_bytes().unwrap_or(0) as i64);
        memory.encode(encoder.encode_descriptor(
            "process_resident_memory_bytes",
            "Memory of this process that is in RAM; 0 where the system does not say",
            None,
            memory.metric_type(),
        )?)?;
        let seconds = ConstCounter::new(cpu_seconds().unwrap_or(0.0));
        seconds.encode(encoder.encode_descriptor(
            "process_cpu_seconds",
            "Processor time of this process, user and system",
            None,
            seconds.metric_type(),
        )?)
    }
}

fn cpu_seconds() -> Option<f64> {
    let time = cpu_time::ProcessTime::try_now().ok()?;
    Some(time.as_duration().as_secs_f64())
}

#[cfg(target_os = "linux")]
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_processor_time_and_memory() {
        assert!(cpu_seconds().is_some_and(|seconds| seconds > 0.0));
        #[cfg(target_os = "linux")]
        assert!(resident_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }
}
