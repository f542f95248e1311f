//! Reads that the compiler rejects, and the error messages.

#[test]
fn wrong_fields_and_types_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
