//! The values that follow the delivery of a response.

/// Follows the delivery of a response. It is dropped when the response has been sent, or is dropped.
pub trait Observer: Send {
    /// Notes that this number of bytes of the body is passed to the connection. The events of a watch that the connection's
    /// task writes itself are not reported.
    fn sent(&mut self, bytes: usize);
}

/// Observers in a list, of which each is one allocation. They are dropped in the order in which they were added.
#[derive(Default)]
pub(super) struct Observers(Option<Box<dyn Observer>>);

/// An observer behind those that were added before.
struct Linked<O> {
    earlier: Observers,
    observer: O,
}

/// A value that is only kept.
pub(super) struct Kept<T>(T);

// === impl Observers ===

impl Observers {
    /// Returns no observers.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Adds an observer.
    pub(super) fn add(&mut self, observer: impl Observer + 'static) {
        let earlier = Self(self.0.take());
        self.0 = Some(Box::new(Linked { earlier, observer }));
    }

    /// Tells all observers that this number of bytes is sent.
    pub(super) fn sent(&mut self, bytes: usize) {
        if let Some(observer) = &mut self.0 {
            observer.sent(bytes);
        }
    }

    /// Drops all observers.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }
}

impl<O: Observer> Observer for Linked<O> {
    fn sent(&mut self, bytes: usize) {
        self.earlier.sent(bytes);
        self.observer.sent(bytes);
    }
}

// === impl Kept ===

impl<T> Kept<T> {
    /// Keeps this value.
    pub(super) const fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T: Send> Observer for Kept<T> {
    fn sent(&mut self, _bytes: usize) {}
}
