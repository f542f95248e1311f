use super::*;

/// Returns the resources of a package with these files.
fn resources(files: &[(&str, &str)]) -> Result<Resources, String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let workspace = Workspace { root: folder.path().to_owned(), packages: Vec::new() };
    let mut walk = Walk::new(&workspace);
    walk.file(&folder.path().join("lib.rs"), folder.path(), &[])
        .and_then(|()| walk.into_resources())
        .map_err(|error| error.to_string())
}

const PODS: &str = r#"
use super::binding::PodBinding;

/// Pods.
#[derive(Resource)]
#[resource(version = "v1", object = k8s_openapi::api::core::v1::Pod, subresource(PodBinding, verbs(get, create)))]
pub struct Pods;
"#;

const BINDING: &str = r#"
pub struct PodBinding;
impl registry::Subresource for PodBinding {
    type Parent = super::pods::Pods;
    const NAME: &'static str = "binding";
}
"#;

#[test]
fn structs_are_found_through_the_module_tree() {
    let found = resources(&[
        ("lib.rs", "pub mod core; pub mod generated; #[cfg(test)] mod missing; mod inline { pub(crate) mod deep; }"),
        ("core.rs", "pub mod pods; pub mod binding;"),
        ("core/pods.rs", PODS),
        ("core/binding.rs", BINDING),
        ("inline/deep.rs", r#"#[derive(Resource)] #[resource(group = "a.b", version = "v1")] struct Own { metadata: ObjectMeta }"#),
    ])
    .expect("a sound package");
    assert!(found.has_generated_module);
    let [pods, own] = found.declared.as_slice() else { panic!("two structs: {:?}", found.declared) };
    assert_eq!((pods.path.as_str(), pods.file.as_str()), ("crate::core::pods::Pods", "core/pods.rs"));
    let [binding] = pods.subresources.as_slice() else { panic!("one subresource") };
    assert_eq!(
        (binding.name.as_str(), binding.path.as_str()),
        ("binding", "crate::core::binding::PodBinding")
    );
    assert_eq!(binding.verbs, ["create", "get"]);
    assert_eq!(own.path, "crate::inline::deep::Own");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let wrong = r#"
#[derive(Resource)]
#[resource(group = "Zoo", version = "v1")]
pub struct A { metadata: ObjectMeta }
#[derive(Resource)]
#[resource(group = "a.b", version = "v1", subresource(Nowhere, verbs(get)))]
pub struct B { metadata: ObjectMeta }
"#;
    let message = resources(&[("lib.rs", wrong)]).expect_err("two mistakes");
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[0].starts_with("lib.rs:3:20: not an API group"), "{message}");
    assert!(lines[1].starts_with("lib.rs:7: no `impl Subresource for Nowhere`"), "{message}");
}

#[test]
fn types_the_storage_map_cannot_name_are_told() {
    let message = resources(&[
        ("lib.rs", "pub mod core;"),
        ("core.rs", "pub mod pods; mod binding;"),
        ("core/pods.rs", PODS),
        ("core/binding.rs", BINDING),
    ])
    .expect_err("a module only its parent sees");
    assert_eq!(
        message,
        "core/pods.rs:7: the storage map cannot name `crate::core::binding::PodBinding`: write `pub(crate) mod \
         binding;`"
    );
}

#[test]
fn types_of_one_name_are_told_apart_by_their_modules() {
    let parent = r#"
#[derive(Resource)]
#[resource(group = "a.b", version = "v1", subresource(PATH, verbs(get)))]
pub struct A { metadata: ObjectMeta }
"#;
    let implementation = r#"pub struct S; impl Subresource for S { const NAME: &'static str = "NAME"; }"#;
    let with = |path: &str| {
        resources(&[
            ("lib.rs", &format!("pub mod one; pub mod two; {}", parent.replace("PATH", path))),
            ("one.rs", &implementation.replace("\"NAME\"", "\"first\"")),
            ("two.rs", &implementation.replace("\"NAME\"", "\"second\"")),
        ])
    };
    let found = with("crate::two::S").expect("one is meant");
    assert_eq!(found.declared[0].subresources[0].name, "second");
    let message = with("S").expect_err("two may be meant");
    assert!(message.contains("`S` may be crate::one::S or crate::two::S"), "{message}");
}
