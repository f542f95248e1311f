//! Sets of fields.

use std::cmp::Ordering;
use std::fmt;

use crate::schema::TypeRef;

use super::element::PathElement;
use super::shape::ValueShape;

/// A set of fields of an object: a tree of path elements, some of which are members.
///
/// A member's parents and children are not implicitly members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet<'a> {
    /// Sorted by element, without duplicates; each node is a member or has children.
    nodes: Vec<Node<'a>>,
}

/// One path element of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node<'a> {
    pub(super) element: PathElement<'a>,
    /// Whether the field itself is in the set.
    pub(super) member: bool,
    /// The members below this element.
    pub(super) children: FieldSet<'a>,
}

// === impl FieldSet ===

impl<'a> FieldSet<'a> {
    /// Creates a set from paths of field names.
    pub fn from_paths<'p: 'a>(paths: impl IntoIterator<Item = &'p [&'p str]>) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| PathElement::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds the field at this path. (The empty path, which is the whole object, cannot be a member.)
    pub fn insert(&mut self, path: &[PathElement<'a>]) {
        let Some((element, rest)) = path.split_first() else { return };
        let place = match self.nodes.binary_search_by(|node| node.element.cmp(element)) {
            Ok(place) => place,
            Err(place) => {
                let node = Node { element: element.clone(), member: false, children: Self::default() };
                self.nodes.insert(place, node);
                place
            }
        };
        let Some(node) = self.nodes.get_mut(place) else { return };
        if rest.is_empty() {
            node.member = true;
        } else {
            node.children.insert(rest);
        }
    }

    /// Whether the field at this path is a member.
    pub fn has(&self, path: &[PathElement<'_>]) -> bool {
        let Some((element, rest)) = path.split_first() else { return false };
        self.find(element).is_some_and(
            |node| {
                if rest.is_empty() { node.member } else { node.children.has(rest) }
            },
        )
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.children.len()).sum()
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut others = other.nodes.into_iter().peekable();
        for mut node in self.nodes {
            while let Some(before) = others.next_if(|other| other.element < node.element) {
                nodes.push(before);
            }
            if let Some(same) = others.next_if(|other| other.element == node.element) {
                node.member |= same.member;
                node.children = node.children.union(same.children);
            }
            nodes.push(node);
        }
        nodes.extend(others);
        Self { nodes }
    }

    /// Returns the union of all sets. Joins sets of similar sizes first, so the cost is the total size times a
    /// logarithmic factor.
    #[must_use]
    pub fn union_of(mut sets: Vec<Self>) -> Self {
        while sets.len() > 1 {
            let mut pairs = sets.into_iter();
            let mut joined = Vec::with_capacity(pairs.len().div_ceil(2));
            while let Some(set) = pairs.next() {
                joined.push(set.union(pairs.next().unwrap_or_default()));
            }
            sets = joined;
        }
        sets.pop().unwrap_or_default()
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet<'_>) -> Self {
        let both = |node: &Node<'a>, other: &Node<'_>| Node {
            element: node.element.clone(),
            member: node.member && other.member,
            children: node.children.intersection(&other.children),
        };
        let nodes = self.joined(other).filter_map(|(node, other)| Some(both(node, other?)));
        Self { nodes: nodes.filter(Node::is_needed).collect() }
    }

    /// Returns the members that are not in the other set. Removing a field does not remove its children.
    #[must_use]
    pub fn difference(self, other: &FieldSet<'_>) -> Self {
        self.without(other, |node, other| {
            node.member &= !other.member;
            node.children = std::mem::take(&mut node.children).difference(&other.children);
        })
    }

    /// Returns the members that are neither in the other set nor below one of its members.
    #[must_use]
    pub fn recursive_difference(self, other: &FieldSet<'_>) -> Self {
        self.without(other, |node, other| {
            if other.member {
                node.member = false;
                node.children = Self::default();
            } else {
                node.children = std::mem::take(&mut node.children).recursive_difference(&other.children);
            }
        })
    }

    /// Returns the members at these paths, below them or above them; `*` matches any element.
    #[must_use]
    pub(super) fn only(mut self, paths: &[&[&str]]) -> Self {
        self.nodes.retain_mut(|node| {
            let leads_here = |step: &str| step == "*" || node.element == PathElement::field(step);
            let mut rests: Vec<&[&str]> = Vec::new();
            for path in paths {
                if let Some((step, rest)) = path.split_first()
                    && leads_here(step)
                {
                    rests.push(rest);
                }
            }
            if rests.is_empty() {
                return false;
            }
            if rests.iter().all(|rest| !rest.is_empty()) {
                node.children = std::mem::take(&mut node.children).only(&rests);
            }
            node.is_needed()
        });
        self
    }

    /// Returns the members without members below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let leaf = |node: &Node<'a>| Node {
            element: node.element.clone(),
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(),
        };
        Self { nodes: self.nodes.iter().map(leaf).collect() }
    }

    /// Returns the set extended by the struct fields above members. (`EnsureNamedFieldsAreMembers`.)
    #[must_use]
    pub fn with_named_fields(self, ty: TypeRef<'_>) -> Self {
        self.with_named(ValueShape::from_type(ty))
    }

    fn with_named(mut self, shape: ValueShape<'_>) -> Self {
        for node in &mut self.nodes {
            if node.children.is_empty() {
                continue;
            }
            let below = match &node.element {
                PathElement::Field(name) => {
                    node.member |= shape.names(name);
                    shape.member(name)
                }
                PathElement::Key(_) => shape.element(),
                PathElement::Value(_) | PathElement::Index(_) => ValueShape::Leaf,
            };
            node.children = std::mem::take(&mut node.children).with_named(below);
        }
        self
    }

    /// Calls `visit` with the path of each member, parents before children.
    pub fn for_each(&self, visit: &mut impl FnMut(&[PathElement<'a>])) {
        self.walk(&mut Vec::new(), visit);
    }

    fn walk(&self, path: &mut Vec<PathElement<'a>>, visit: &mut impl FnMut(&[PathElement<'a>])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.element.clone());
            visit(path);
            path.pop();
        }
        for node in &self.nodes {
            path.push(node.element.clone());
            node.children.walk(path, visit);
            path.pop();
        }
    }

    /// Returns the set with owned data.
    pub fn into_owned(self) -> FieldSet<'static> {
        let owned = |node: Node<'a>| Node {
            element: node.element.into_owned(),
            member: node.member,
            children: node.children.into_owned(),
        };
        FieldSet { nodes: self.nodes.into_iter().map(owned).collect() }
    }

    /// Creates a set from unsorted, distinct nodes.
    pub(super) fn from_nodes(mut nodes: Vec<Node<'a>>) -> Self {
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
        }
        Self { nodes }
    }

    /// Reserves capacity for this number of nodes.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve_exact(nodes);
    }

    /// Appends a node that sorts after all others; ignores an empty one.
    pub(super) fn push(&mut self, element: PathElement<'a>, member: bool, children: Self) {
        debug_assert!(self.nodes.last().is_none_or(|last| last.element < element), "elements come in order");
        let node = Node { element, member, children };
        if node.is_needed() {
            self.nodes.push(node);
        }
    }

    pub(super) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    pub(super) fn find(&self, element: &PathElement<'_>) -> Option<&Node<'a>> {
        let place = self.nodes.binary_search_by(|node| compare(&node.element, element)).ok()?;
        self.nodes.get(place)
    }

    /// Iterates over the nodes of both sets, joined by element.
    fn joined<'s, 'o>(
        &'s self,
        other: &'s FieldSet<'o>,
    ) -> impl Iterator<Item = (&'s Node<'a>, Option<&'s Node<'o>>)> {
        let mut others = other.nodes.iter().peekable();
        self.nodes.iter().map(move |node| {
            while others.next_if(|other| compare(&other.element, &node.element).is_lt()).is_some() {}
            (node, others.next_if(|other| compare(&other.element, &node.element).is_eq()))
        })
    }

    fn without(mut self, other: &FieldSet<'_>, mut reduce: impl FnMut(&mut Node<'a>, &Node<'_>)) -> Self {
        if other.is_empty() {
            return self;
        }
        let mut others = other.nodes.iter().peekable();
        self.nodes.retain_mut(|node| {
            while others.next_if(|other| compare(&other.element, &node.element).is_lt()).is_some() {}
            if let Some(same) = others.next_if(|other| compare(&other.element, &node.element).is_eq()) {
                reduce(node, same);
            }
            node.is_needed()
        });
        self
    }
}

/// Writes one member per line.
impl fmt::Display for FieldSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut outcome = Ok(());
        self.for_each(&mut |path| {
            outcome = outcome.and_then(|()| writeln!(f, "{}", path_text(path)));
        });
        outcome
    }
}

// === impl Node ===

impl Node<'_> {
    fn is_needed(&self) -> bool {
        self.member || !self.children.is_empty()
    }
}

/// Formats a path as in conflict messages: `.spec.ports[port=80,protocol="TCP"].name`.
pub(super) fn path_text(path: &[PathElement<'_>]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// Compares elements with different lifetimes.
fn compare(a: &PathElement<'_>, b: &PathElement<'_>) -> Ordering {
    a.cmp(b)
}
