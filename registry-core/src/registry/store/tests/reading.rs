use crate::api::ListOptions;
use crate::api::selector::FieldSelector;
use crate::rest::Lister;

use super::*;

/// Widgets without custom selectable fields.
static BARE: ResourceDescription = ResourceDescription {
    properties: ResourceProperties { selectable: &[], ..PLAIN.properties },
    ..widgets(|| Arc::new(NoStrategy))
};

fn selecting(text: &str) -> ListOptions {
    ListOptions { field_selector: FieldSelector::parse(text).unwrap(), ..ListOptions::default() }
}

#[tokio::test]
async fn selectors_narrow_what_is_read() {
    let fixture = Fixture::new(&PLAIN);
    for (name, color) in [("lion", "gold"), ("frog", "green"), ("newt", "green")] {
        fixture.create(widget(name, &json!({"spec": {"color": color}}))).await.unwrap();
    }
    let everywhere = "/registry/widgets/";
    let here = "/registry/widgets/zoo/";
    let lion = "/registry/widgets/zoo/lion";
    let table: &[(&str, &str, &str, usize)] = &[
        ("zoo", "", here, 3),
        ("", "", everywhere, 3),
        ("zoo", "metadata.name=lion", lion, 1),
        ("", "metadata.name=lion", everywhere, 1),
        ("", "metadata.name=lion,metadata.namespace=zoo", lion, 1),
        ("", "metadata.namespace=zoo", here, 3),
        ("zoo", "metadata.namespace=other", here, 0),
        ("zoo", "metadata.name!=lion", here, 2),
        ("zoo", "metadata.name=a/b", here, 0),
        ("zoo", "spec.color=green", here, 2),
    ];
    for (namespace, selector, range, found) in table {
        let context = RequestContext::system(*namespace);
        let page = fixture.store.list(&context, &selecting(selector)).await.unwrap();
        assert_eq!(page.items.len(), *found, "{selector} in {namespace:?}");
        assert_eq!(fixture.storage.listed().last().unwrap(), range, "{selector} in {namespace:?}");
    }
}

#[tokio::test]
async fn only_declared_fields_are_selected_by() {
    let fixture = Fixture::new(&PLAIN);
    let refused = fixture.store.list(&fixture.context, &selecting("spec.zork=1")).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (400, "field label not supported: spec.zork"));

    let fixture = Fixture::new(&BARE);
    let refused = fixture.store.list(&fixture.context, &selecting("data.k=v")).await.unwrap_err();
    assert_eq!(
        refused.message,
        "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
}
