//! The functions by which the parser adds expressions to the tree.

use std::sync::Arc;

use super::Parser;
use crate::syntax::ast::{Expr, ExprId, Name, operators};
use crate::syntax::errors::{CompileError, Location};
use crate::syntax::macros::Expanded;

/// Maximum number of errors that are reported beside those of the syntax.
const MAX_ERRORS: usize = 100;
/// Maximum number of nodes of a syntax tree. Macros that copy their target would grow it without bound otherwise.
const MAX_NODES: usize = 200_000;

// === impl Parser: nodes ===

impl Parser<'_> {
    pub(super) fn error_at(&mut self, offset: u32, message: String) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        self.errors
            .push(CompileError { location: Location::from_offset(self.source, offset as usize), message });
    }

    pub(super) fn depth(&self, id: ExprId) -> u16 {
        self.depths.get(id.index()).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, offset: u32, expr: Expr) -> ExprId {
        let id = self.ast.add(offset, expr);
        self.note_depth(id);
        id
    }

    /// Notes how deeply the parts of a new expression are nested.
    fn note_depth(&mut self, id: ExprId) {
        let mut depth = 0;
        self.ast.for_each_child(id, |child| {
            depth = depth.max(self.depths.get(child.index()).copied().unwrap_or(0));
        });
        let counted = match self.ast.get(id) {
            Expr::Select { .. } => true,
            Expr::Call { function, .. } => !matches!(
                function.as_ref(),
                operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT | operators::NEGATE
            ),
            _ => false,
        };
        self.depths.resize(id.index(), 0);
        self.depths.push(depth.saturating_add(u16::from(counted)));
    }

    pub(super) fn call(&mut self, offset: u32, function: &'static str, args: Vec<ExprId>) -> ExprId {
        self.add(offset, Expr::Call { function: Arc::from(function), target: None, args })
    }

    pub(super) fn call_or_macro(
        &mut self,
        offset: u32,
        function: Name,
        target: Option<ExprId>,
        args: Vec<ExprId>,
    ) -> ExprId {
        if self.ast.len() > MAX_NODES {
            self.error_at(
                offset,
                format!("expression is too large: it expands to more than {MAX_NODES} nodes"),
            );
            return self.add(offset, Expr::Error);
        }
        match self.macros.expand(&mut self.ast, offset, &function, target, &args) {
            Expanded::No => self.add(offset, Expr::Call { function, target, args }),
            Expanded::To(id) => {
                // A macro hides the call that it replaces: its nesting is that of its parts.
                let depth = target.iter().chain(&args).map(|part| self.depth(*part)).max().unwrap_or(0);
                self.depths.resize(self.ast.len(), 0);
                if let Some(place) = self.depths.get_mut(id.index()) {
                    *place = depth.saturating_add(1);
                }
                id
            }
            Expanded::Error { at, message } => {
                let at = self.ast.offset(at);
                self.error_at(at, message);
                self.add(offset, Expr::Error)
            }
        }
    }
}
