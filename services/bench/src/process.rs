//! What the kernel says about a process, by `/proc`.

use std::fs;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;

use crate::Target;

/// A process of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pid: u32,
}

/// Bytes of memory a process holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Now.
    pub(crate) resident: u64,
    /// The most since it began.
    pub(crate) high_water_mark: u64,
}

impl Process {
    /// The process with an id.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let process = Self { pid };
        process.cpu_seconds()?;
        Ok(process)
    }

    /// This one.
    pub(crate) fn own() -> Self {
        Self {
            pid: std::process::id(),
        }
    }

    /// The process that listens at an address, if that is on this machine and
    /// may be looked at.
    pub(crate) fn listening(target: &Target) -> Option<Self> {
        let local = (target.host(), target.port())
            .to_socket_addrs()
            .ok()?
            .any(|address| is_loopback(address.ip()));
        if !local {
            return None;
        }
        let inodes: Vec<u64> = ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .filter_map(|table| fs::read_to_string(table).ok())
            .flat_map(|table| listening_inodes(&table, target.port()))
            .collect();
        let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        let mut pids: Vec<u32> = fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| pid(entry.ok()?))
            .collect();
        pids.sort_unstable();
        pids.into_iter()
            .find(|pid| holds_one_of(*pid, &inodes))
            .map(|pid| Self { pid })
    }

    pub(crate) fn pid(self) -> u32 {
        self.pid
    }

    /// Processor seconds it has used, of all its threads.
    pub(crate) fn cpu_seconds(self) -> io::Result<f64> {
        let stat = fs::read_to_string(self.file("stat"))?;
        let ticks = cpu_ticks(&stat).ok_or(io::ErrorKind::InvalidData)?;
        Ok(ticks as f64 / ticks_per_second())
    }

    pub(crate) fn memory(self) -> io::Result<Memory> {
        let status = fs::read_to_string(self.file("status"))?;
        Ok(memory(&status))
    }

    fn file(self, name: &str) -> std::path::PathBuf {
        Path::new("/proc").join(self.pid.to_string()).join(name)
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

/// Inodes of the sockets that listen on a port, in a table of `/proc/net`.
fn listening_inodes(table: &str, port: u16) -> Vec<u64> {
    const LISTEN: &str = "0A";
    let lines = table.lines().skip(1);
    let inode = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (_, hex) = columns.get(1)?.rsplit_once(':')?;
        let listens = *columns.get(3)? == LISTEN && u16::from_str_radix(hex, 16).ok()? == port;
        listens.then(|| columns.get(9)?.parse().ok()).flatten()
    };
    lines.filter_map(inode).collect()
}

fn holds_one_of(pid: u32, inodes: &[u64]) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    files.flatten().any(|file| {
        fs::read_link(file.path())
            .ok()
            .and_then(|link| socket_inode(link.to_str()?))
            .is_some_and(|inode| inodes.contains(&inode))
    })
}

fn socket_inode(link: &str) -> Option<u64> {
    let inode = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

/// Clock ticks in user and kernel mode: fields 14 and 15 of `/proc/PID/stat`.
fn cpu_ticks(stat: &str) -> Option<u64> {
    // The second field is the program's name, which may hold anything; the
    // third begins after its last bracket.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    Some(user + kernel)
}

fn memory(status: &str) -> Memory {
    let bytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    };
    Memory {
        resident: bytes("VmRSS:"),
        high_water_mark: bytes("VmHWM:"),
    }
}

#[cfg(unix)]
fn ticks_per_second() -> f64 {
    // SAFETY: sysconf only reads a constant of the system.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(not(unix))]
fn ticks_per_second() -> f64 {
    100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_ticks_are_found_behind_a_name_full_of_brackets() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 900 0 3 0 1234 66 7 8 20 0 9 0 5 6 7";
        assert_eq!(cpu_ticks(stat), Some(1300));
        assert_eq!(cpu_ticks("42 (cut short) S 1"), None);
    }

    #[test]
    fn memory_is_in_bytes_and_zero_where_a_line_is_missing() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(
            memory(status),
            Memory {
                resident: 1 << 20,
                high_water_mark: 2 << 20
            }
        );
        assert_eq!(memory("Name:\tkernel thread\n"), Memory::default());
    }

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
";
        assert_eq!(listening_inodes(table, 8080), [4711]);
        assert_eq!(socket_inode("socket:[4711]"), Some(4711));
        assert_eq!(socket_inode("/dev/null"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_that_listens_here_is_this_one() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target::parse(&format!("http://127.0.0.1:{port}")).unwrap();
        let found = Process::listening(&target).unwrap();
        assert_eq!(found.pid(), std::process::id());
        assert!(found.memory().unwrap().resident > 1 << 16);
        assert!(found.cpu_seconds().unwrap() >= 0.0);
        drop(listener);
        assert_eq!(Process::listening(&target), None);
    }
}
