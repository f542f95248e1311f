//! `impl registry_core::Resource`: the constant with the resource's description.

use std::path::PathBuf;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use registry_grammar::{
    ColumnAttribute, ColumnFormat, ColumnKind, Columns, FieldPath, ObjectKind, Release, Renew, ResourceModel,
    ResourceScope, RetiredVersion,
};
use syn::spanned::Spanned;

use super::checks::access;
use super::conversion;
use super::fragments::{json_path, object_type, optional};

pub(super) fn emit(model: &ResourceModel) -> TokenStream {
    let ident = &model.ident;
    let object = object_type(model);
    let ResourceModel { plural, singular, short_names, categories, .. } = model;
    let ResourceModel { has_status, has_generation, returns_deleted_object, .. } = model;
    let serves_deletecollection = model.serves_deletecollection;
    let is_builtin = matches!(model.object, ObjectKind::Foreign(_));
    let list_kind = model.list_kind();
    let scope = match model.scope {
        ResourceScope::Namespaced => quote!(Namespaced),
        ResourceScope::Cluster => quote!(Cluster),
    };
    let storage_prefix = storage_prefix(model);
    let hub = conversion::constant(model);
    let enabled_by_default = !model.is_off_by_default;
    let feature = feature(model);
    let lifecycle = lifecycle(model);
    let fields = fields(model);
    let columns = columns(model);
    let row_conditions = optional(model.row_conditions.as_ref().map(|function| quote!(#function)));
    let scale = scale(model);
    let time_to_live = optional(model.time_to_live_seconds.map(|seconds| quote!(#seconds)));
    let write_rules = write_rules(model);
    let retired = retired(model);
    let deprecation = optional(model.deprecated.as_ref().map(|text| quote!(#text)));
    let strategy = strategy(model);
    let schema = schema(model);
    // Spanned at the struct, so that it is the author's line and not the attribute's.
    let declared_at = quote_spanned! {ident.span()=>
        ::core::concat!(::core::file!(), ":", ::core::line!())
    };
    quote! {
        #[automatically_derived]
        impl ::registry_core::Resource for #ident {
            type Object = #object;
            const TYPE: &'static ::registry_core::resource::ResourceDescription = &::registry_core::resource::ResourceDescription {
                properties: ::registry_core::resource::ResourceProperties {
                    kind: RESOURCE_KIND,
                    list_kind: #list_kind,
                    plural: #plural,
                    singular: #singular,
                    short_names: &[#(#short_names),*],
                    categories: &[#(#categories),*],
                    scope: ::registry_core::api::Scope::#scope,
                    storage_prefix: #storage_prefix,
                    lifecycle: #lifecycle,
                    deprecation: #deprecation,
                    retired: #retired,
                    #fields
                    row_conditions: #row_conditions,
                    has_status: #has_status,
                    has_generation: #has_generation,
                    scale: #scale,
                    time_to_live_seconds: #time_to_live,
                    returns_deleted_object: #returns_deleted_object,
                    serves_deletecollection: #serves_deletecollection,
                    is_builtin: #is_builtin,
                    write_rules: #write_rules,
                    declared_at: #declared_at,
                },
                enabled_by_default: #enabled_by_default,
                feature: #feature,
                columns: #columns,
                strategy: #strategy,
                schema: #schema,
                hub: #hub,
            };
        }
    }
}

/// Generates the storage prefix; for a spoke, its hub's.
fn storage_prefix(model: &ResourceModel) -> TokenStream {
    let ResourceModel { hub, storage_prefix, .. } = model;
    if let Some(hub) = hub {
        quote_spanned!(hub.span()=> <#hub as ::registry_core::Resource>::TYPE.properties.storage_prefix)
    } else {
        quote!(#storage_prefix)
    }
}

/// Generates the feature that the resource belongs to.
fn feature(model: &ResourceModel) -> TokenStream {
    optional(
        model
            .feature_gate
            .as_ref()
            .map(|feature| quote_spanned!(feature.span()=> ::registry_core::features::Feature::#feature)),
    )
}

/// Generates the releases in which the version is served.
fn lifecycle(model: &ResourceModel) -> TokenStream {
    let release =
        |release: Option<Release>| {
            optional(release.map(
                |Release { major, minor }| quote!(::registry_core::release::Release::new(#major, #minor)),
            ))
        };
    let (introduced, removed) = (release(model.introduced), release(model.removed));
    quote! {
        ::registry_core::release::Lifecycle { introduced: #introduced, removed: #removed }
    }
}

/// Generates the versions in which objects may be stored although they are not served any more.
fn retired(model: &ResourceModel) -> TokenStream {
    let versions = model.retired.iter().map(|RetiredVersion { api_version, renew }| {
        let renew = optional(renew.as_ref().map(|Renew { is_budgeted, function }| {
            let variant = if *is_budgeted { quote!(Budgeted) } else { quote!(Plain) };
            quote!(::registry_core::resource::Renew::#variant(#function))
        }));
        quote!(::registry_core::resource::RetiredVersion { api_version: #api_version, renew: #renew })
    });
    quote!(&[#(#versions),*])
}

/// Generates the selectable fields, their names, and the indexes.
fn fields(model: &ResourceModel) -> TokenStream {
    let selectable = model.selectable.iter().map(|field| {
        let name = field.name();
        let path = json_path(field);
        let absent = absent(model, field);
        let other_path = field.other().map_or_else(|| quote!(&[]), json_path);
        quote! {
            ::registry_core::resource::SelectableField {
                name: #name,
                path: #path,
                other_path: #other_path,
                absent: #absent,
            }
        }
    });
    let names = model.selectable.iter().map(FieldPath::name);
    // An index has the name of its selectable field, which can be renamed.
    let indexes = model.indexes.iter().filter_map(|index| {
        let is_it = |field: &&FieldPath| field.rust_name() == index.rust_name();
        model.selectable.iter().find(is_it).map(FieldPath::name)
    });
    quote! {
        selectable: &[#(#selectable),*],
        indexes: &[#(#indexes),*],
        field_names: &["metadata.name", "metadata.namespace", #(#names),*],
    }
}

/// Generates the value of an absent field for selectors: empty, as for custom resources; for a foreign type, which
/// represents a Go type, the zero of the field's type.
fn absent(model: &ResourceModel, field: &FieldPath) -> TokenStream {
    let ObjectKind::Foreign(object) = &model.object else { return quote!("") };
    let access = access(field);
    quote! {{
        use ::registry_core::expansion::field::Present as _;
        #[allow(clippy::all, clippy::pedantic, reason = "asked for its type, never called")]
        let zero = ::registry_core::expansion::field::zero(|object: &#object| #access);
        zero
    }}
}

fn columns(model: &ResourceModel) -> TokenStream {
    // Tables of custom kinds have a date where built-in ones have a string.
    let age = match model.object {
        ObjectKind::Own(_) => quote!(CUSTOM_AGE),
        ObjectKind::Foreign(_) => quote!(AGE),
    };
    match &model.columns {
        Columns::Slice(slice) => quote!(#slice),
        Columns::Declared(declared) => {
            let declared = declared.iter().map(|declared| column(model, declared));
            quote! {
                &[
                    ::registry_core::resource::Column::NAME,
                    #(#declared,)*
                    ::registry_core::resource::Column::#age,
                ]
            }
        }
    }
}

/// Generates a column. A cell of a foreign type, which represents a Go type, shows the zero of an absent field, and the
/// field documents the column.
fn column(model: &ResourceModel, column: &ColumnAttribute) -> TokenStream {
    let ColumnAttribute { heading, priority, .. } = column;
    let path = json_path(&column.path);
    let is_foreign = matches!(model.object, ObjectKind::Foreign(_));
    let (kind, cell) = match column.kind {
        ColumnKind::Date if is_foreign => (quote!(String), quote!(Age)),
        ColumnKind::Date => (quote!(Date), quote!(Age)),
        ColumnKind::String => (quote!(String), if is_foreign { quote!(Text) } else { quote!(Path) }),
        ColumnKind::Integer => (quote!(Integer), if is_foreign { quote!(Whole) } else { quote!(Path) }),
        ColumnKind::Boolean => (quote!(Boolean), if is_foreign { quote!(Flag) } else { quote!(Path) }),
        ColumnKind::Number => (quote!(Number), quote!(Path)),
    };
    let format = match column.format {
        ColumnFormat::Plain => quote!(Plain),
        ColumnFormat::Name => quote!(Name),
    };
    let (description, documented_by) = match &column.description {
        Some(description) => (description.clone(), quote!(&[])),
        None if is_foreign => (String::new(), path.clone()),
        None => (format!("The field .{}", column.path.json().join(".")), quote!(&[])),
    };
    quote! {
        ::registry_core::resource::Column {
            name: #heading,
            kind: ::registry_core::resource::ColumnType::#kind,
            format: ::registry_core::resource::ColumnFormat::#format,
            priority: #priority,
            description: #description,
            documented_by: #documented_by,
            cell: ::registry_core::resource::Cell::#cell(#path),
        }
    }
}

fn scale(model: &ResourceModel) -> TokenStream {
    optional(model.scale.as_ref().map(|scale| {
        let replicas = json_path(&scale.replicas);
        let current = json_path(&scale.current);
        let selector = optional(scale.selector.as_ref().map(json_path));
        quote! {
            ::registry_core::resource::ScalePaths { replicas: #replicas, current: #current, selector: #selector }
        }
    }))
}

/// Generates the rules of writes that are constants; for a spoke, its hub's.
fn write_rules(model: &ResourceModel) -> TokenStream {
    if let Some(hub) = &model.hub {
        return quote_spanned!(hub.span()=> <#hub as ::registry_core::Resource>::TYPE.properties.write_rules);
    }
    let rules = &model.write_rules;
    let registry_grammar::WriteRules { unconditional_update, create_on_update, .. } = rules;
    let is_foreign = matches!(model.object, ObjectKind::Foreign(_));
    let usual = syn::parse_quote!(DnsSubdomain);
    let names = rules.names.as_ref().unwrap_or(&usual);
    let names = quote_spanned!(names.span()=> ::registry_core::api::validation::names::NameRule::#names);
    let qualified_finalizers = is_foreign && !rules.plain_finalizers;
    let repeated_metadata_errors = is_foreign && !rules.metadata_errors_once;
    let reset = rules.reset.iter().map(json_path);
    let reset_by_status = rules.reset_by_status.iter().map(json_path);
    quote! {
        ::registry_core::resource::WriteRules {
            names: #names,
            unconditional_update: #unconditional_update,
            create_on_update: #create_on_update,
            qualified_finalizers: #qualified_finalizers,
            repeated_metadata_errors: #repeated_metadata_errors,
            reset: &[#(#reset),*],
            reset_by_status: &[#(#reset_by_status),*],
        }
    }
}

fn strategy(model: &ResourceModel) -> TokenStream {
    if let (true, Some(hub)) = (model.has_hub_strategy, &model.hub) {
        quote_spanned! {hub.span()=>
            || ::std::sync::Arc::new(::registry_core::resource::HubDefaults(
                (<#hub as ::registry_core::Resource>::TYPE.strategy)(),
            ))
        }
    } else if let Some(strategy) = &model.strategy {
        quote_spanned!(strategy.span()=> || ::std::sync::Arc::new(#strategy))
    } else {
        quote!(|| ::std::sync::Arc::new(::registry_core::resource::NoStrategy))
    }
}

/// Generates the schema: the author's function, else the struct's own JSON schema, or the crate's generated table of
/// facts.
fn schema(model: &ResourceModel) -> TokenStream {
    let ResourceModel { ident, group, version, kind, .. } = model;
    let field_numbers = field_numbers();
    match (&model.schema, &model.object) {
        (Some(function), _) => quote!(#function),
        (None, ObjectKind::Own(_)) => {
            let own_schema = quote_spanned!(ident.span()=> ::registry_core::expansion::own_schema::<#ident>);
            quote! {
                || {
                    static SCHEMA: ::std::sync::OnceLock<::registry_core::schema::Schema> =
                        ::std::sync::OnceLock::new();
                    #own_schema(&SCHEMA, RESOURCE_KIND, #field_numbers)
                }
            }
        }
        (None, ObjectKind::Foreign(_)) => quote!(|| crate::schema::built_in(#group, #version, #kind)),
    }
}

/// Generates access to the lock file with the field numbers of the author's crate, which code generation maintains; a
/// crate without one has no protobuf. If it exists, the compiler tracks it as a dependency.
fn field_numbers() -> TokenStream {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let lock = crate_folder.join("src/generated/field_numbers.lock");
    let path = lock.to_str().filter(|_| lock.is_file());
    optional(path.map(|path| quote!(::core::include_str!(#path))))
}
