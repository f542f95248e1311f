//! What must hold of every object's metadata, at creation and at update.
