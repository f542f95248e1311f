//! Example of behaviour beside a resource: `fleet.example.dev/v1`, the ships of a fleet and the ports that they are in.
//!
//! - `src/ship.rs`: an ordinary resource.
//! - `src/ship/port.rs`: a virtual resource, computed from the ships when it is read.
//! - `src/ship/arrival.rs`: a subresource that acts, whose body is another kind.
//! - `src/home_port.rs`: a mutating admission plug-in.
//! - `src/main.rs`: a server with all of them.

pub mod generated;
pub mod home_port;
pub mod ship;

use apiserver::ServerBuilder;

use home_port::HomePort;

pub use generated::storage_map::STORAGE_MAP;

// ANCHOR: customize
/// Adds the plug-in to a server.
pub fn customize(server: ServerBuilder) -> ServerBuilder {
    server.mutating_admission(HomePort::new)
}
// ANCHOR_END: customize
