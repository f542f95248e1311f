//! An API of one's own: the Enclosure resource and a server that serves it

fn main() {}
