//! The classes of costs. The cost of a function is changed in the table `overloads.txt`: a line ends with the name of its class.

/// The way in which the cost of a call follows from the sizes of its operands, the receiver first, and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CostClass {
    /// 1, whatever the sizes.
    One,
    /// `&&` and `||`, which may leave out their second operand.
    Logic,
    /// `? :`, which evaluates one of two operands.
    Conditional,
    /// An authorization check.
    Check,
    /// The parsing of a selector.
    Selector,
    /// The characters of the first operand.
    Read,
    /// The same; the result is as long.
    Copy,
    /// The characters of the first operand, twice.
    ReadTwice,
    /// `replace`.
    Replace,
    /// `split`.
    Split,
    /// `join`.
    Join,
    /// `startsWith` and `endsWith`, estimated from the second operand as in cel-go.
    Affix,
    /// A text as bytes.
    ToBytes,
    /// Bytes as a text.
    FromBytes,
    /// A text in quotes.
    Quote,
    /// A text in a text.
    Contains,
    /// A regular expression that is matched.
    Match,
    /// A regular expression whose matches are made.
    Find,
    /// The regular expression of a named format.
    Validate,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// The order of texts or bytes.
    Order,
    /// Texts or bytes that are joined.
    Concatenate,
    /// Lists that are joined.
    ConcatenateLists,
    /// The elements of a list that is searched with `in`.
    In,
    /// The elements of a list, with the texts in them.
    Elements,
    /// An address in a network.
    ContainsIp,
    /// The same, of an address that is parsed.
    ContainsIpText,
    /// A network in a network.
    ContainsCidr,
    /// The same, of a network that is parsed.
    ContainsCidrText,
    /// Every element of one list against every element of another.
    Intersect,
    /// The same, in both directions.
    Equivalent,
    /// `slice`.
    Slice,
    /// `lists.range`.
    Range,
    /// A list in reverse.
    Reverse,
    /// `flatten`, for every level.
    Flatten,
    /// Every element of a list against every other.
    Distinct,
    /// The same, of a list that is sorted.
    Sort,
    /// The same, of the keys that a list is sorted by.
    SortByKeys,
}

// === impl CostClass ===

impl CostClass {
    /// Parses the name in the table.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "logic" => Self::Logic,
            "conditional" => Self::Conditional,
            "check" => Self::Check,
            "selector" => Self::Selector,
            "read" => Self::Read,
            "copy" => Self::Copy,
            "read-twice" => Self::ReadTwice,
            "replace" => Self::Replace,
            "split" => Self::Split,
            "join" => Self::Join,
            "affix" => Self::Affix,
            "to-bytes" => Self::ToBytes,
            "from-bytes" => Self::FromBytes,
            "quote" => Self::Quote,
            "contains" => Self::Contains,
            "match" => Self::Match,
            "find" => Self::Find,
            "validate" => Self::Validate,
            "equal" => Self::Equal,
            "not-equal" => Self::NotEqual,
            "order" => Self::Order,
            "concatenate" => Self::Concatenate,
            "concatenate-lists" => Self::ConcatenateLists,
            "in" => Self::In,
            "elements" => Self::Elements,
            "contains-ip" => Self::ContainsIp,
            "contains-ip-text" => Self::ContainsIpText,
            "contains-cidr" => Self::ContainsCidr,
            "contains-cidr-text" => Self::ContainsCidrText,
            "intersect" => Self::Intersect,
            "equivalent" => Self::Equivalent,
            "slice" => Self::Slice,
            "range" => Self::Range,
            "reverse" => Self::Reverse,
            "flatten" => Self::Flatten,
            "distinct" => Self::Distinct,
            "sort" => Self::Sort,
            "sort-by-keys" => Self::SortByKeys,
            _ => return None,
        })
    }
}
