//! Example of storage of one's own: `library.example.dev/v1 Book`, whose objects are files.
//!
//! - `src/book.rs`: the annotated struct. Nothing in it says where its objects are.
//! - `src/directory.rs`: the backend, which loads and writes the files. A table of a database or another API is the same two
//!   functions.
//! - `src/main.rs`: a server with both, and a flag for the directory.
//!
//! The server adds everything else: validation, conditional writes, patches and server-side apply, paged lists,
//! selectors, and watches, which also show the changes that others make in the files.

pub mod book;
pub mod directory;
pub mod generated;

pub use generated::storage_map::STORAGE_MAP;
