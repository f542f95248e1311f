//! A text for the parser, in which a tab may separate a key from its value.
//!
//! The parser refuses a tab after the `:` of a key unless spaces are beside it; Go's decoder does not. Only the parser knows whether a
//! tab is inside a quoted or a block scalar, so the text stays as it is, and its reader reports such a tab as a space.

use saphyr_parser::StrInput;
use saphyr_parser::input::{Input, SkipTabs};

/// A text whose tabs separate as spaces do.
pub(super) struct TabbedInput<'a>(StrInput<'a>);

impl<'a> TabbedInput<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(StrInput::new(text))
    }
}

/// Passes calls on to the text: the trait's own methods read it character by character.
macro_rules! pass_on {
    (
        read { $($read:ident($($argument:ident: $type:ty),*) -> $output:ty;)* }
        change { $($change:ident($($with:ident: $with_type:ty),*) $(-> $result:ty)?;)* }
    ) => {
        $(
            #[inline]
            fn $read(&self $(, $argument: $type)*) -> $output {
                self.0.$read($($argument),*)
            }
        )*
        $(
            #[inline]
            fn $change(&mut self $(, $with: $with_type)*) $(-> $result)? {
                self.0.$change($($with),*)
            }
        )*
    };
}

impl Input for TabbedInput<'_> {
    fn skip_ws_to_eol(&mut self, skip_tabs: SkipTabs) -> (usize, Result<SkipTabs, &'static str>) {
        let (skipped, outcome) = self.0.skip_ws_to_eol(skip_tabs);
        let separated = |found: SkipTabs| {
            SkipTabs::Result(found.found_tabs(), found.found_tabs() || found.has_valid_yaml_ws())
        };
        (skipped, outcome.map(separated))
    }

    pass_on! {
        read {
            buflen() -> usize;
            bufmaxlen() -> usize;
            buf_is_empty() -> bool;
            peek() -> char;
            peek_nth(n: usize) -> char;
            peek_opt() -> Option<char>;
            next_char_is(letter: char) -> bool;
            nth_char_is(n: usize, letter: char) -> bool;
            next_2_are(first: char, second: char) -> bool;
            next_3_are(first: char, second: char, third: char) -> bool;
            next_is_document_indicator() -> bool;
            next_is_document_start() -> bool;
            next_is_document_end() -> bool;
            next_can_be_plain_scalar(in_flow: bool) -> bool;
            next_is_blank_or_break() -> bool;
            next_is_blank_or_breakz() -> bool;
            next_is_blank() -> bool;
            next_is_break() -> bool;
            next_is_breakz() -> bool;
            next_is_z() -> bool;
            next_is_flow() -> bool;
            next_is_digit() -> bool;
            next_is_alpha() -> bool;
        }
        change {
            lookahead(count: usize);
            raw_read_ch() -> char;
            raw_read_non_breakz_ch() -> Option<char>;
            skip();
            skip_n(count: usize);
            look_ch() -> char;
            skip_while_non_breakz() -> usize;
            skip_while_blank() -> usize;
            fetch_while_is_alpha(into: &mut String) -> usize;
            fetch_while_is_yaml_non_space(into: &mut String) -> usize;
        }
    }
}
