use syn::parse_quote;

use super::expand;

/// Formats the expansion.
fn pretty(input: &syn::DeriveInput) -> String {
    let file = syn::parse2(expand(input)).expect("an expansion is items");
    prettyplease::unparse(&file)
}

#[test]
fn a_struct_becomes_a_resource_type_with_all_that_its_attributes_name() {
    let expansion = pretty(&parse_quote! {
        #[resource(
            group = "zoo.example.dev", version = "v1", short = "enc", categories("all"),
            selectable(spec.keeper, status.pod_ip = "status.podIP"), index(spec.keeper),
            column("Keeper", spec.keeper), column("Opened", status.opened_at, type = date, priority = 1),
            scale(replicas = spec.replicas, current = status.replicas, selector = status.selector),
            strategy = EnclosureStrategy, ttl_seconds = 3600,
            subresource(crate::feeding::Feeding, verbs(create, get)),
        )]
        pub struct Enclosure {
            pub metadata: ObjectMeta,
            pub spec: EnclosureSpec,
            #[resource(status)]
            pub status: Option<EnclosureStatus>,
        }
    });
    insta::assert_snapshot!(expansion);
}

#[test]
fn a_type_of_another_crate_becomes_a_resource_type() {
    let expansion = pretty(&parse_quote! {
        #[resource(version = "v1", object = k8s_openapi::api::core::v1::Node, short = "no", cluster, status, columns = COLUMNS)]
        pub struct Nodes;
    });
    insta::assert_snapshot!(expansion);
}

#[test]
fn nothing_is_emitted_after_an_error() {
    let message = expand(&parse_quote! {
        #[resource(group = "zoo.example.dev", versions = "v1")]
        pub struct Enclosure { pub metadata: ObjectMeta }
    });
    let text = message.to_string();
    assert!(text.contains("compile_error") && !text.contains("impl"), "{text}");
}
