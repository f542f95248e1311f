use super::*;

#[test]
fn modules_are_declared_in_order_and_once() {
    assert_eq!(with_module("//! Zoo.\n", "zoo"), "//! Zoo.\n\npub mod zoo;\n");
    assert_eq!(
        with_module("//! Zoo.\n\npub mod a;\npub mod c;\n\nuse x;\n", "b"),
        "//! Zoo.\n\npub mod a;\npub mod b;\npub mod c;\n\nuse x;\n"
    );
    assert_eq!(with_module("mod a;\npub use a::A;\n", "b"), "mod a;\npub mod b;\npub use a::A;\n");
    assert_eq!(with_module("//! Zoo.\n\nuse x;\n", "zoo"), "//! Zoo.\n\npub mod zoo;\n\nuse x;\n");
    assert_eq!(with_module("pub mod zoo;\n", "zoo"), "pub mod zoo;\n");
}
