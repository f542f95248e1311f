use super::*;

#[test]
fn a_kind_that_the_package_has_is_refused() {
    let workspace = Workspace::load().expect("the workspace");
    let package =
        workspace.packages.iter().find(|package| package.name == "orlop-resources").expect("the package");
    let check = |group_version, kind| {
        let names = Names::new(group_version, kind).expect("good names");
        check_is_new(&workspace, package, &names)
    };
    let refused = check("apps/v1", "Deployment").expect_err("a second Deployment").to_string();
    assert!(refused.contains("declares apps/v1 Deployment already"), "{refused}");
    assert!(check("apps/v2", "Deployment").is_ok(), "another version");
    assert!(check("harbor.example.dev/v1", "Deployment").is_ok(), "another group");
}

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
