// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `version/v1`.

use crate::declare::prelude::*;

structs! {
    Info InfoMut {
        build_date = "buildDate": Text<'v, 'p>, Text<'static, 'static>;
        compiler = "compiler": Text<'v, 'p>, Text<'static, 'static>;
        emulation_major = "emulationMajor": Text<'v, 'p>, Text<'static, 'static>;
        emulation_minor = "emulationMinor": Text<'v, 'p>, Text<'static, 'static>;
        git_commit = "gitCommit": Text<'v, 'p>, Text<'static, 'static>;
        git_tree_state = "gitTreeState": Text<'v, 'p>, Text<'static, 'static>;
        git_version = "gitVersion": Text<'v, 'p>, Text<'static, 'static>;
        go_version = "goVersion": Text<'v, 'p>, Text<'static, 'static>;
        major = "major": Text<'v, 'p>, Text<'static, 'static>;
        min_compatibility_major = "minCompatibilityMajor": Text<'v, 'p>, Text<'static, 'static>;
        min_compatibility_minor = "minCompatibilityMinor": Text<'v, 'p>, Text<'static, 'static>;
        minor = "minor": Text<'v, 'p>, Text<'static, 'static>;
        platform = "platform": Text<'v, 'p>, Text<'static, 'static>;
    }
}

