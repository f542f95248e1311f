//! The names of Unicode properties that Go knows: general categories with their aliases, scripts, and sets of both.
//!
//! Since Go 1.25, names are looked up without regard to case, spaces, underscores and hyphens.

use std::sync::LazyLock;

/// A property that Go knows.
pub(super) enum Property {
    /// One of this name in the syntax of the `regex` crate.
    Named(&'static str),
    /// The halves of characters beyond the first plane, which texts cannot have.
    Surrogates,
}

/// Maximum length of a name, with what is left out when it is looked up.
const MAX_NAME_BYTES: usize = 64;

/// The names in the form in which they are looked up, sorted. The scripts are those of Unicode 15.
const NAMES: &str = "\
    adlam ahom anatolianhieroglyphs any arabic armenian ascii assigned avestan balinese bamum bassavah batak \
    bengali bhaiksuki bopomofo brahmi braille buginese buhid c canadianaboriginal carian casedletter \
    caucasianalbanian cc cf chakma cham cherokee chorasmian closepunctuation cn cntrl co combiningmark common \
    connectorpunctuation control coptic cuneiform currencysymbol cypriot cyprominoan cyrillic dashpunctuation \
    decimalnumber deseret devanagari digit divesakuru dogra duployan egyptianhieroglyphs elbasan elymaic \
    enclosingmark ethiopic finalpunctuation format georgian glagolitic gothic grantha greek gujarati \
    gunjalagondi gurmukhi han hangul hanifirohingya hanunoo hatran hebrew hiragana imperialaramaic inherited \
    initialpunctuation inscriptionalpahlavi inscriptionalparthian javanese kaithi kannada katakana kawi kayahli \
    kharoshthi khitansmallscript khmer khojki khudawadi l lao latin lc lepcha letter letternumber limbu lineara \
    linearb lineseparator lisu ll lm lo lowercaseletter lt lu lycian lydian m mahajani makasar malayalam mandaic \
    manichaean marchen mark masaramgondi mathsymbol mc me medefaidrin meeteimayek mendekikakui meroiticcursive \
    meroitichieroglyphs miao mn modi modifierletter modifiersymbol mongolian mro multani myanmar n nabataean \
    nagmundari nandinagari nd newa newtailue nko nl no nonspacingmark number nushu nyiakengpuachuehmong ogham \
    olchiki oldhungarian olditalic oldnortharabian oldpermic oldpersian oldsogdian oldsoutharabian oldturkic \
    olduyghur openpunctuation oriya osage osmanya other otherletter othernumber otherpunctuation othersymbol p \
    pahawhhmong palmyrene paragraphseparator paucinhau pc pd pe pf phagspa phoenician pi po privateuse ps \
    psalterpahlavi punct punctuation rejang runic s samaritan saurashtra sc separator sharada shavian siddham \
    signwriting sinhala sk sm so sogdian sorasompeng soyombo spaceseparator spacingmark sundanese sylotinagri \
    symbol syriac tagalog tagbanwa taile taitham taiviet takri tamil tangsa tangut telugu thaana thai tibetan \
    tifinagh tirhuta titlecaseletter toto ugaritic unassigned uppercaseletter vai vithkuqi wancho warangciti \
    yezidi yi z zanabazarsquare zl zp zs";

static SORTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| NAMES.split_ascii_whitespace().collect());

// === impl Property ===

impl Property {
    /// Finds a property by its name.
    pub(super) fn find(name: &str) -> Option<Self> {
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
        let letters = name.chars().filter(|letter| !matches!(letter, ' ' | '_' | '-'));
        let normalized: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        if matches!(normalized.as_str(), "cs" | "surrogate") {
            return Some(Self::Surrogates);
        }
        let place = SORTED.binary_search(&normalized.as_str()).ok()?;
        SORTED.get(place).copied().map(Self::Named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go_regexp::Pattern;
    use registry_meta::budget::Budget;

    #[test]
    fn every_property_can_be_matched() {
        assert!(SORTED.is_sorted() && SORTED.len() > 200);
        for name in SORTED.iter().copied().chain(["Cs"]) {
            let pattern = Pattern::parse(&format!(r"^[\p{{{name}}}\P{{{name}}}]$")).unwrap();
            assert_eq!(pattern.is_match("a", &Budget::default()), Ok(true), "{name}");
        }
    }

    #[test]
    fn names_are_those_of_go() {
        let is_known = |name: &str| Property::find(name).is_some();
        for name in
            ["L", "Lu", "lu", "Letter", "Uppercase_Letter", "uppercase letter", "LC", "Cs", "Any", "ASCII"]
        {
            assert!(is_known(name), "{name}");
        }
        for name in ["Greek", "greek", "Old-Italic", "Nag_Mundari", "Cn", "Assigned", "punct"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["", "X", "Grek", "Alphabetic", "Emoji", "Script=Greek", "sc=Greek", "Garay", "Lul"] {
            assert!(!is_known(name), "{name}");
        }
    }
}
