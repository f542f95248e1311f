//! Declares views.

/// The names that declarations use.
pub(crate) mod prelude {
    pub(crate) use registry_core::api::Object;

    pub(crate) use crate::scalars::*;
    pub(crate) use crate::several::{List, Map};
    pub(crate) use crate::slot::{Fields, Fill, Slot};
    pub(crate) use crate::view::{Typed, View};
}

/// Declares types that are a [`View`](crate::View) whose type is known.
macro_rules! view_of {
    ($($(#[$document:meta])* $name:ident)*) => {
        $(
            $(#[$document])*
            #[derive(Clone, Copy)]
            pub struct $name<'v, 'p>(View<'v, 'p>);

            impl<'v, 'p> ::std::ops::Deref for $name<'v, 'p> {
                type Target = View<'v, 'p>;

                #[inline]
                fn deref(&self) -> &View<'v, 'p> {
                    &self.0
                }
            }

            impl<'v, 'p> Typed<'v, 'p> for $name<'v, 'p> {
                #[inline]
                fn typed(view: View<'v, 'p>) -> Self {
                    Self(view)
                }
            }
        )*
    };
}

/// Declares the views of structs, for reading and for writing.
macro_rules! structs {
    ($($name:ident $writer:ident {
        $($method:ident = $field:literal: $read:ty, $write:ty;)*
    })*) => {
        $(
            view_of! {
                #[doc = concat!("The fields of a `", stringify!($name), "`.")]
                $name
            }

            impl<'v, 'p> $name<'v, 'p> {
                $(
                    #[doc = concat!("Returns `", $field, "`.")]
                    #[inline]
                    pub fn $method(&'p self) -> $read {
                        Typed::typed(self.0.child($field))
                    }
                )*
            }

            #[doc = concat!("The fields of a `", stringify!($name), "`, which can be set.")]
            pub struct $writer<'m>(pub &'m mut Fields);

            impl<'m> Fill<'m> for $writer<'m> {
                #[inline]
                fn fill(fields: &'m mut Fields) -> Self {
                    Self(fields)
                }
            }

            impl $writer<'_> {
                $(
                    #[doc = concat!("Returns the place of `", $field, "`.")]
                    #[inline]
                    pub fn $method<'m>(&'m mut self) -> Slot<'m, $write> {
                        Slot::new(self.0, $field)
                    }
                )*
            }
        )*
    };
}

/// Declares the views of kinds, whose fields are those of the object itself.
macro_rules! kinds {
    ($($name:ident $writer:ident {
        $($method:ident = $field:literal: $read:ty, $write:ty;)*
    })*) => {
        $(
            #[doc = concat!("The fields of a `", stringify!($name), "`, which is a whole object.")]
            #[derive(Clone, Copy)]
            pub struct $name<'v>(pub &'v Object);

            impl<'v> $name<'v> {
                $(
                    #[doc = concat!("Returns `", $field, "`.")]
                    #[inline]
                    pub fn $method<'p>(self) -> $read {
                        Typed::typed(View::top(self.0, $field))
                    }
                )*
            }

            #[doc = concat!("The fields of a `", stringify!($name), "`, which is a whole object and can be set.")]
            pub struct $writer<'m>(pub &'m mut Object);

            impl<'m> $writer<'m> {
                $(
                    #[doc = concat!("Returns the place of `", $field, "`.")]
                    #[inline]
                    pub fn $method(self) -> Slot<'m, $write> {
                        Slot::new(&mut self.0.0, $field)
                    }
                )*
            }
        )*
    };
}
