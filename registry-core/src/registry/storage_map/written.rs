//! The macro that code generation fills in.

/// Declares a [`StorageMap`](crate::registry::StorageMap): group → version → path → storage, as types that implement
/// [`ApiPath`](crate::registry::storage_map::ApiPath). The compiler rejects an inconsistent map, with a message that
/// names both conflicting entries and where each is declared.
///
/// ```ignore
/// registry_core::storage_map! {
///     /// What this crate serves.
///     pub static STORAGE_MAP = {
///         "zoo.example.dev" => {
///             "v1" => {
///                 "enclosures" => Main<crate::enclosure::Enclosure>,
///                 "enclosures/status" => Status<crate::enclosure::Enclosure>,
///             },
///         },
///     };
/// }
/// ```
#[macro_export]
macro_rules! storage_map {
    (
        $(#[$attribute:meta])*
        $visibility:vis static $name:ident = {
            $($group:literal => {
                $($version:literal => {
                    $($path:literal => $storage:ty),* $(,)?
                }),* $(,)?
            }),* $(,)?
        };
    ) => {
        $(#[$attribute])*
        $visibility static $name: $crate::registry::StorageMap = {
            const MAP: $crate::registry::StorageMap = $crate::registry::StorageMap {
                versions: &[$($(
                    $crate::registry::MapVersion {
                        group: $group,
                        version: $version,
                        entries: &[$(
                            <$storage as $crate::registry::storage_map::ApiPath>::ENTRY
                        ),*],
                    }
                ),*),*],
                declared_in: ::core::module_path!(),
            };
            const WRITTEN: &[$crate::registry::storage_map::WrittenVersion] = &[$($(
                $crate::registry::storage_map::WrittenVersion {
                    group: $group,
                    version: $version,
                    paths: &[$(
                        $crate::registry::storage_map::WrittenPath {
                            path: $path,
                            storage: ::core::stringify!($storage),
                        }
                    ),*],
                }
            ),*),*];
            const _: () = $crate::registry::storage_map::check::check(&MAP, WRITTEN);
            MAP
        };
    };
}
