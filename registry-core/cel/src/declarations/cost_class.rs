//! The classes of costs. The cost of a function is changed in the table `overloads.txt`: a line ends with the name of its class.
//! The formulas of a class are in the module of `cost/calls` that has the name of its group.

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
    /// An operator that reads its operands.
    Operator(OperatorCost),
    /// A function of texts or bytes.
    Text(TextCost),
    /// A function of lists.
    List(ListCost),
    /// A function of networks.
    Network(NetworkCost),
}

/// The classes of operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorCost {
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
}

/// The classes of functions of texts and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextCost {
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
}

/// The classes of functions of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListCost {
    /// The elements of a list, with the texts in them.
    Elements,
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

/// The classes of `containsIP` and `containsCIDR` of a network, by their argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkCost {
    /// An address.
    Ip,
    /// The same, of an address that is parsed.
    IpText,
    /// A network.
    Cidr,
    /// The same, of a network that is parsed.
    CidrText,
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
            "equal" => Self::Operator(OperatorCost::Equal),
            "not-equal" => Self::Operator(OperatorCost::NotEqual),
            "order" => Self::Operator(OperatorCost::Order),
            "concatenate" => Self::Operator(OperatorCost::Concatenate),
            "concatenate-lists" => Self::Operator(OperatorCost::ConcatenateLists),
            "in" => Self::Operator(OperatorCost::In),
            "read" => Self::Text(TextCost::Read),
            "copy" => Self::Text(TextCost::Copy),
            "read-twice" => Self::Text(TextCost::ReadTwice),
            "replace" => Self::Text(TextCost::Replace),
            "split" => Self::Text(TextCost::Split),
            "join" => Self::Text(TextCost::Join),
            "affix" => Self::Text(TextCost::Affix),
            "to-bytes" => Self::Text(TextCost::ToBytes),
            "from-bytes" => Self::Text(TextCost::FromBytes),
            "quote" => Self::Text(TextCost::Quote),
            "contains" => Self::Text(TextCost::Contains),
            "match" => Self::Text(TextCost::Match),
            "find" => Self::Text(TextCost::Find),
            "validate" => Self::Text(TextCost::Validate),
            "elements" => Self::List(ListCost::Elements),
            "intersect" => Self::List(ListCost::Intersect),
            "equivalent" => Self::List(ListCost::Equivalent),
            "slice" => Self::List(ListCost::Slice),
            "range" => Self::List(ListCost::Range),
            "reverse" => Self::List(ListCost::Reverse),
            "flatten" => Self::List(ListCost::Flatten),
            "distinct" => Self::List(ListCost::Distinct),
            "sort" => Self::List(ListCost::Sort),
            "sort-by-keys" => Self::List(ListCost::SortByKeys),
            "contains-ip" => Self::Network(NetworkCost::Ip),
            "contains-ip-text" => Self::Network(NetworkCost::IpText),
            "contains-cidr" => Self::Network(NetworkCost::Cidr),
            "contains-cidr-text" => Self::Network(NetworkCost::CidrText),
            _ => return None,
        })
    }
}
