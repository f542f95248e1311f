//! What the compiler refuses, and how it says so.

#[test]
fn refusals_point_at_the_author() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
