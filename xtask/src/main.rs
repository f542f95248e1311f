//! The project's own commands: codegen, new, test, bench, replay, tidy

fn main() {}
