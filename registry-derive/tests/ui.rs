//! Declarations that the compiler rejects, and the error messages.

#[test]
fn refusals_point_at_the_author() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
