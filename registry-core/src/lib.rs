//! The engine: API meta types, schema, codecs, patches, storage and the generic registry
