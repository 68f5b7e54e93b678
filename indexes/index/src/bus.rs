//! Keeps the process alive when a file shrinks under its mapping.
//!
//! Reading a mapped page that lies beyond its file's end raises SIGBUS, which
//! ends a process. The handler here lays zeros over the rest of the mapping
//! instead and marks it as faulted. Zeros are no answer either: whoever reads
//! mappings asks afterwards whether one has faulted (see [`crate::guarded`]).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

/// One of our mappings, as the handler sees it.
///
/// Regions are never freed, only used again, because a handler on another
/// thread may be walking their list at any time. A sequence lock keeps it from
/// believing the start of one mapping and the end of another.
pub(crate) struct Region {
    /// Odd while `start` and `end` change.
    version: AtomicU64,
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
    /// Set before the region is published, never changed.
    next: AtomicPtr<Region>,
}

/// The newest region; each leads to the one before it.
static NEWEST: AtomicPtr<Region> = AtomicPtr::new(ptr::null_mut());
/// Regions whose mapping is gone.
static UNUSED: Mutex<Vec<&'static Region>> = Mutex::new(Vec::new());
/// Watches that are open: see [`open_watch`].
static WATCHES: AtomicUsize = AtomicUsize::new(0);
/// Whether a page that is in none of our regions was replaced by zeros.
static STRAY: AtomicBool = AtomicBool::new(false);
static PAGE: AtomicUsize = AtomicUsize::new(4096);
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Starts to protect a mapping: `addresses` begin at a page.
pub(crate) fn protect(addresses: Range<usize>) -> &'static Region {
    install();
    let unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(region) = unused {
        region.set(addresses);
        return region;
    }
    let region: &'static Region = Box::leak(Box::new(Region {
        version: AtomicU64::new(0),
        start: AtomicUsize::new(addresses.start),
        end: AtomicUsize::new(addresses.end),
        faulted: AtomicBool::new(false),
        next: AtomicPtr::new(ptr::null_mut()),
    }));
    let publish = |newest| {
        region.next.store(newest, SeqCst);
        Some(ptr::from_ref(region).cast_mut())
    };
    let published = NEWEST.fetch_update(SeqCst, SeqCst, publish);
    debug_assert!(published.is_ok(), "publish never declines");
    region
}

impl Region {
    /// Whether a page of the mapping could not be read and is zeros now.
    pub(crate) fn faulted(&self) -> bool {
        self.faulted.load(SeqCst)
    }

    /// Ends the protection. Call before the mapping goes.
    pub(crate) fn release(&'static self) {
        self.set(0..0);
        UNUSED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
    }

    fn set(&self, addresses: Range<usize>) {
        self.version.fetch_add(1, SeqCst);
        self.start.store(addresses.start, SeqCst);
        self.end.store(addresses.end, SeqCst);
        self.faulted.store(false, SeqCst);
        self.version.fetch_add(1, SeqCst);
    }

    /// The addresses, unless they are changing right now.
    fn addresses(&self) -> Option<Range<usize>> {
        let version = self.version.load(SeqCst);
        let addresses = self.start.load(SeqCst)..self.end.load(SeqCst);
        let steady = version.is_multiple_of(2) && version == self.version.load(SeqCst);
        steady.then_some(addresses)
    }
}

/// From now until [`close_watch`], pages of mappings that are not ours are
/// replaced as well.
pub(crate) fn open_watch() {
    install();
    WATCHES.fetch_add(1, SeqCst);
}

/// Undoes one [`open_watch`].
pub(crate) fn close_watch() {
    WATCHES.fetch_sub(1, SeqCst);
}

/// Whether a mapping that is not ours has ever faulted under a watch. It
/// cannot be told which, and its zeros stay: no later reading is trusted.
pub(crate) fn strayed() -> bool {
    STRAY.load(SeqCst)
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: sysconf has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if let Ok(page) = usize::try_from(page) {
            PAGE.store(page, SeqCst);
        }
        let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_sigbus;
        // SAFETY: all-zero bytes are a valid `sigaction`, a plain C struct.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as libc::sighandler_t;
        // The alternate stack, because SIGBUS may also tell of a stack
        // overflow, which Rust's own handler reports from there.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: as above.
        let mut previous: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both point to live structs, the mask is initialized before
        // use, and `on_sigbus` does only what a signal handler may.
        let installed = unsafe {
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, &mut previous)
        };
        if installed == 0 {
            PREVIOUS.get_or_init(|| previous);
        }
    });
}

/// Runs as a signal handler: nothing but atomics, `mmap`, `sigaction` and
/// `raise`; no lock, no allocation, no panic.
unsafe extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid `siginfo_t`, whose
    // address field is set for a SIGBUS of code BUS_ADRERR.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == libc::BUS_ADRERR && replaced_by_zeros(address) {
        return;
    }
    // SAFETY: the arguments are passed on as they came.
    unsafe { pass_on(signal, info, context) }
}

/// Lays zeros where the fault was: over the rest of the mapping if it is ours
/// (all of it lies beyond the file's end as well), else over the page.
fn replaced_by_zeros(address: usize) -> bool {
    let page = PAGE.load(SeqCst);
    let start = address & !(page - 1);
    let mut next = NEWEST.load(SeqCst);
    // SAFETY: regions are leaked, so every pointer in the list stays valid.
    while let Some(region) = unsafe { next.as_ref() } {
        if let Some(addresses) = region.addresses()
            && addresses.contains(&address)
        {
            // Marked first: no thread may see zeros and no mark.
            region.faulted.store(true, SeqCst);
            return lay_zeros(start, addresses.end.next_multiple_of(page) - start);
        }
        next = region.next.load(SeqCst);
    }
    if WATCHES.load(SeqCst) == 0 {
        return false;
    }
    STRAY.store(true, SeqCst);
    lay_zeros(start, page)
}

fn lay_zeros(start: usize, length: usize) -> bool {
    // SAFETY: the faulting access proves that these pages belong to a live
    // mapping whose object does not reach them, so no other data is lost.
    // Readers of the mapping see zeros, which are valid bytes.
    let zeros = unsafe {
        libc::mmap(
            start as *mut c_void,
            length,
            libc::PROT_READ,
            libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    zeros != libc::MAP_FAILED
}

/// What would have happened without our handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    match PREVIOUS.get() {
        Some(previous) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&previous.sa_sigaction) => {
            if previous.sa_flags & libc::SA_SIGINFO == 0 {
                // SAFETY: without SA_SIGINFO the stored address is that of a
                // handler that takes the signal's number.
                let handler: extern "C" fn(c_int) =
                    unsafe { std::mem::transmute(previous.sa_sigaction) };
                handler(signal);
            } else {
                // SAFETY: with SA_SIGINFO it is one that takes all three.
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    unsafe { std::mem::transmute(previous.sa_sigaction) };
                handler(signal, info, context);
            }
        }
        _ => {
            // SAFETY: plain calls; the signal is blocked while this handler
            // runs, so the raised one ends the process on return from it.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}
