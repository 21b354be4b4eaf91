//! The memory that the start of a service frees.
#![allow(unsafe_code, reason = "the allocator is a C library")]

use libmimalloc_sys as _;

unsafe extern "C" {
    fn mi_collect(force: bool);
}

/// Returns freed memory to the operating system. The allocator does so itself, but with a later allocation, and an idle
/// service makes hardly any: it would retain 10 to 17 MiB.
pub(in crate::service) fn return_freed_memory() {
    // SAFETY: the function has no preconditions and changes no memory that is in use.
    unsafe { mi_collect(true) };
}
