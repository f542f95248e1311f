//! Source text to syntax tree: lexer, parser with ANTLR's error messages, and macro expansion.

pub(crate) mod ast;
pub(crate) mod errors;
pub(crate) mod lexer;
pub(crate) mod macros;
pub(crate) mod parser;
pub(crate) mod recovery;
pub(crate) mod unescape;

pub use errors::{CompileError, CompileErrors, Location};
