//! The operands of repetition, and the limits that Go has for them.
//!
//! Go concept: `checkLimits` in `regexp/syntax`.

/// Maximum size of a program, in instructions.
pub(super) const MAX_SIZE: u64 = (128 << 20) / 40;
/// Maximum number of operators around each other.
pub(super) const MAX_HEIGHT: u32 = 1_000;

/// An operand of repetition.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operand {
    /// The repetitions of it and of those in it, multiplied.
    pub(super) repetitions: u32,
    /// The number of instructions.
    pub(super) size: u64,
    /// The number of operators around each other.
    pub(super) height: u32,
}

/// The bounds of a counted repetition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) least: u32,
    /// The same as `least`, but at least 1, if there is no maximum.
    pub(super) most: u32,
    pub(super) is_open: bool,
}

/// Part of a pattern that is not complete yet: the pattern itself, or a group.
#[derive(Default)]
pub(super) struct Open {
    /// Whether it is a group whose match could be asked for.
    captures: bool,
    /// Whether there is something that an operator can repeat.
    pub(super) has_operand: bool,
    pub(super) last: Operand,
    /// The size of the operands before the last one.
    size: u64,
    alternatives: u64,
    /// Whether there are several operands one after the other.
    is_sequence: bool,
    /// The largest number of repetitions and the largest height of the operands before the last one.
    repetitions: u32,
    height: u32,
}

// === impl Operand ===

impl Operand {
    /// A character or a class.
    pub(super) const CHARACTER: Self = Self { repetitions: 1, size: 1, height: 1 };

    /// Returns the operand with an operator: a counted repetition, or `*`, `+` or `?`.
    pub(super) fn repeated(self, times: Option<Times>) -> Self {
        let Some(times) = times else {
            return Self { size: self.size.saturating_add(2), height: self.height + 1, ..self };
        };
        let copies = self.size.saturating_mul(u64::from(times.most));
        let optional = if times.is_open { 2 } else { u64::from(times.most - times.least.min(times.most)) };
        Self {
            repetitions: self.repetitions.saturating_mul(times.most),
            size: copies.saturating_add(optional).max(1),
            height: self.height + 1,
        }
    }
}

// === impl Open ===

impl Open {
    /// Begins a group.
    pub(super) fn group(captures: bool) -> Self {
        Self { captures, ..Self::default() }
    }

    pub(super) fn add_operand(&mut self, operand: Operand) {
        self.is_sequence |= self.has_operand && (self.last.height > 1 || operand.height > 1);
        self.finish_last();
        self.has_operand = true;
        self.last = operand;
    }

    pub(super) fn replace_operand(&mut self, operand: Operand) {
        self.repetitions = self.repetitions.max(self.last.repetitions);
        self.last = operand;
    }

    pub(super) fn begin_alternative(&mut self) {
        self.finish_last();
        self.has_operand = false;
        self.alternatives += 1;
    }

    fn finish_last(&mut self) {
        let last = std::mem::take(&mut self.last);
        self.size = self.size.saturating_add(last.size);
        self.repetitions = self.repetitions.max(last.repetitions);
        self.height = self.height.max(last.height);
    }

    /// Returns all of it as an operand.
    pub(super) fn as_operand(&self) -> Operand {
        let operators =
            u32::from(self.is_sequence) + u32::from(self.alternatives > 0) + u32::from(self.captures);
        let size = self.size.saturating_add(self.last.size).saturating_add(self.alternatives);
        Operand {
            repetitions: self.repetitions.max(self.last.repetitions).max(1),
            size: size.saturating_add(if self.captures { 2 } else { 0 }).max(1),
            height: self.height.max(self.last.height).saturating_add(operators),
        }
    }
}
