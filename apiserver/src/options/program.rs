//! The program that is run, for its version and its messages.

/// The name and version of a server program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the program.
    pub name: &'static str,
    /// Version of the program.
    pub version: &'static str,
}

/// The [`Program`] that the crate calling this macro builds: the name and version of its package.
#[macro_export]
macro_rules! program {
    () => {
        $crate::Program { name: ::core::env!("CARGO_PKG_NAME"), version: ::core::env!("CARGO_PKG_VERSION") }
    };
}
