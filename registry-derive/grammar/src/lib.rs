//! What #[resource(...)] may say: parsed once, for the derive macro and for code generation
