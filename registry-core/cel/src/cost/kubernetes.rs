//! Costs of calls of Kubernetes' libraries, and of cel-go's for lists and sets.

use super::calls::Call;
use super::estimate::Estimator;
use super::{
    CHECK_COST, CallEstimate, CostEstimate, CostNode, LIST_CALL_COST, REGEX_LENGTH_FACTOR,
    STRING_TRAVERSAL_FACTOR, SizeEstimate, selector_cost,
};
use crate::syntax::ast::{Expr, Literal};
use crate::types::Type;

/// The length of the longest regular expression of a format.
const MAX_FORMAT_REGEX_SIZE: f64 = 128.0;
/// The length of the longest name of a format.
const MAX_FORMAT_SIZE: u64 = 64;

fn cost(cost: CostEstimate) -> Option<CallEstimate> {
    Some(CallEstimate { cost, size: None })
}

fn traversal(size: SizeEstimate) -> CostEstimate {
    size.factor(STRING_TRAVERSAL_FACTOR)
}

/// Functions whose cost does not depend on their arguments.
const CONSTANT_COST: &[&str] = &[
    "serviceAccount",
    "path",
    "group",
    "resource",
    "subresource",
    "namespace",
    "name",
    "allowed",
    "reason",
    "error",
    "errored",
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
];

// === impl Estimator: Kubernetes' libraries ===

impl<'e> Estimator<'e> {
    /// The size that is computed or declared for a node.
    fn known_size(node: &CostNode<'e>) -> SizeEstimate {
        node.size.or_else(|| Self::declared_size(node.path)).unwrap_or(SizeEstimate::UNKNOWN)
    }

    /// The elements of a list or map, for their size.
    fn element_node(&self, list: &CostNode<'e>) -> Option<CostNode<'e>> {
        let type_of = match &list.type_of {
            Type::List(element) => element.as_ref().clone(),
            Type::Map(entry) => entry.0.clone(),
            Type::Opaque(opaque) => opaque.parameters.first()?.clone(),
            _ => return None,
        };
        Some(CostNode { path: self.element_path(list.path), type_of, expr: None, size: None })
    }

    pub(super) fn kubernetes_cost(&self, call: &Call<'_, 'e>) -> Option<CallEstimate> {
        let first = call.args.first();
        let first_size = || first.map(Self::known_size);
        let target_size = || call.target.map(Self::known_size);
        match call.function {
            "check" => cost(CostEstimate::fixed(CHECK_COST)),
            name if CONSTANT_COST.contains(&name) => cost(CostEstimate::fixed(1)),
            "fieldSelector" | "labelSelector" => {
                let size = first_size()?;
                cost(CostEstimate { min: selector_cost(size.min), max: selector_cost(size.max) })
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                self.elements_cost(call.target?)
            }
            "url" | "jsonpatch.escapeKey" => {
                let size = first_size()?;
                Some(CallEstimate { cost: traversal(size), size: Some(size) })
            }
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                let size = target_size()?;
                Some(CallEstimate { cost: traversal(size), size: Some(size) })
            }
            "replace" => replace_cost(target_size()?, first_size()?, Self::known_size(call.args.get(1)?)),
            "split" => {
                let size = target_size()?;
                let max =
                    call.args.get(1).and_then(|limit| self.literal_int(limit)).map_or(size.max, |n| n as u64);
                let result = SizeEstimate { min: 0, max };
                Some(CallEstimate { cost: size.factor(2.0 * STRING_TRAVERSAL_FACTOR), size: Some(result) })
            }
            "join" => self.join_cost(call.target?, first),
            "find" | "findAll" => {
                let size = target_size()?;
                let pattern = first_size()?.factor(REGEX_LENGTH_FACTOR);
                let own = traversal(size.add(SizeEstimate::fixed(1))).multiply(pattern);
                Some(CallEstimate { cost: own, size: Some(SizeEstimate { min: 0, max: size.max }) })
            }
            _ => Self::parsing_cost(call),
        }
    }

    /// The costs of functions that parse a text, and of what they make.
    fn parsing_cost(call: &Call<'_, 'e>) -> Option<CallEstimate> {
        let first_size = || call.args.first().map(Self::known_size);
        match call.function {
            "ip" if call.overload == "cidr_ip" => cost(CostEstimate::fixed(1)),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                cost(traversal(first_size()?))
            }
            "ip.isCanonical" => cost(first_size()?.factor(2.0 * STRING_TRAVERSAL_FACTOR)),
            "containsIP" | "containsCIDR" => contains_cost(call, first_size()?),
            "validate" => cost(traversal(first_size()?).factor(MAX_FORMAT_REGEX_SIZE * REGEX_LENGTH_FACTOR)),
            "_==_" => equality_cost(call.args),
            _ => None,
        }
    }

    fn literal_int(&self, node: &CostNode<'e>) -> Option<i64> {
        match self.checked.ast.get(node.expr?) {
            Expr::Literal(Literal::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn elements_cost(&self, target: &CostNode<'e>) -> Option<CallEstimate> {
        let size = Self::known_size(target);
        let Some(element) = self.element_node(target) else {
            return cost(traversal(size));
        };
        let mut each = CostEstimate::fixed(1);
        if matches!(element.type_of, Type::String | Type::Bytes) {
            each = each.add(traversal(Self::known_size(&element)));
        }
        cost(size.multiply(each))
    }

    fn join_cost(&self, target: &CostNode<'e>, separator: Option<&CostNode<'e>>) -> Option<CallEstimate> {
        let list = Self::known_size(target);
        let element = self.element_node(target).map(|element| Self::known_size(&element));
        let mut size = element.map_or(SizeEstimate::default(), |element| list.multiply(element));
        if let Some(separator) = separator {
            let count = SizeEstimate { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
            size = size.add(Self::known_size(separator).multiply(count));
        }
        Some(CallEstimate { cost: traversal(size), size: Some(size) })
    }

    /// Costs that cel-go's libraries of lists and sets declare themselves.
    pub(super) fn library_cost(&self, call: &Call<'_, 'e>) -> Option<CallEstimate> {
        let literal = |index: usize, otherwise: u64| {
            let number = call.args.get(index).and_then(|arg| self.literal_int(arg));
            number.map_or(otherwise, |number| u64::try_from(number).unwrap_or(0))
        };
        let target_size = || call.target.map(Self::known_size);
        match call.function {
            "sets.contains" | "sets.intersects" | "sets.equivalent" => {
                let [first, second] = call.args else {
                    return None;
                };
                let factor = if call.function == "sets.equivalent" { 2.0 } else { 1.0 };
                let product = Self::known_size(first).multiply(Self::known_size(second));
                cost(product.factor(factor).add(CostEstimate::fixed(1)))
            }
            "slice" => {
                let size = target_size()?;
                let length = literal(1, size.max).wrapping_sub(literal(0, 0));
                list_cost(1.0, SizeEstimate::fixed(length))
            }
            "lists.range" => list_cost(1.0, SizeEstimate::fixed(literal(0, u64::MAX))),
            "reverse" if call.overload == "list_reverse" => list_cost(1.0, target_size()?),
            "flatten" => {
                let depth = if call.args.is_empty() { 1 } else { literal(0, u64::MAX) };
                list_cost(depth as f64, target_size()?)
            }
            "distinct" => {
                let size = target_size()?;
                list_cost(2.0, size.multiply(size))
            }
            "sort" | "@sortByAssociatedKeys" => {
                let keys = if call.function == "sort" { call.target? } else { call.args.first()? };
                let size = Self::known_size(keys);
                let is_text =
                    call.overload.starts_with("list_string") || call.overload.starts_with("list_bytes");
                list_cost(if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 }, size.multiply(size))
            }
            _ => None,
        }
    }
}

fn list_cost(factor: f64, size: SizeEstimate) -> Option<CallEstimate> {
    Some(CallEstimate {
        cost: size.factor(factor).add(CostEstimate::fixed(LIST_CALL_COST)),
        size: Some(size),
    })
}

fn contains_cost(call: &Call<'_, '_>, parsed: SizeEstimate) -> Option<CallEstimate> {
    let address = SizeEstimate { min: 4, max: 16 };
    let mut own = traversal(address.add(address));
    if call.function == "containsCIDR" {
        own = own.add(traversal(address)).add(CostEstimate::fixed(1));
    }
    if matches!(call.overload, "cidr_contains_ip_string" | "cidr_contains_cidr_string") {
        own = own.add(traversal(parsed));
    }
    cost(own)
}

/// The longest and the shortest result of a replacement.
fn replace_cost(text: SizeEstimate, from: SizeEstimate, to: SizeEstimate) -> Option<CallEstimate> {
    let mut count = SizeEstimate::default();
    let mut kept = SizeEstimate::default();
    if from.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if to.max <= from.min {
        kept.max = text.max;
    } else {
        count.max = (text.max as f64 / from.min as f64).ceil() as u64;
    }
    if from.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if from.max <= to.min {
        kept.min = text.min;
    } else {
        count.min = (text.min as f64 / from.max as f64).ceil() as u64;
    }
    let size = count.multiply(to).add(kept);
    Some(CallEstimate { cost: text.factor(2.0 * STRING_TRAVERSAL_FACTOR), size: Some(size) })
}

fn equality_cost(args: &[CostNode<'_>]) -> Option<CallEstimate> {
    let [first, second] = args else {
        return None;
    };
    if first.type_of != second.type_of {
        return None;
    }
    match first.type_of.name() {
        "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => cost(CostEstimate::fixed(1)),
        "kubernetes.NamedFormat" => cost(traversal(CostEstimate { min: 1, max: MAX_FORMAT_SIZE })),
        "kubernetes.URL" => {
            let max = second.size.map_or(1, |size| size.max);
            cost(traversal(CostEstimate { min: 1, max }))
        }
        name if name.starts_with("kubernetes.authorization.") => cost(CostEstimate::fixed(1)),
        _ => None,
    }
}
