//! The body of a response: how its connection delivers it, and the values that follow its delivery.
//!
//! A handler decides on the [`Delivery`] where it makes the response. The layers around the handler add [`Observer`]s, such
//! as the recording of audit events, and need not know the handler.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::{Buf as _, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;

use super::Pieces;
use super::observers::{Kept, Observer, Observers};

/// Responses up to this size are complete when they are created, and count as sent: they fit into the connection's buffers.
const SMALL_BYTES: u64 = 64 * 1024;

/// A response, whose body says how it is delivered.
pub type Response<B = ResponseBody> = http::Response<B>;

/// The body of a response.
///
/// Boxed: every layer around a handler moves the response. With a body of one word it is small enough to be moved without a
/// call of `memcpy`.
pub struct ResponseBody(Box<Delivered>);

/// A delivery, and what follows it.
struct Delivered {
    /// Dropped before the observers.
    delivery: Delivery,
    /// Dropped when the response has been sent, or is dropped.
    observers: Observers,
}

/// The way in which a connection delivers a response.
pub enum Delivery {
    /// The bytes are complete.
    Ready(Bytes),
    /// The bytes are produced while they are sent, with little work.
    Stream(Body),
    /// The bytes are produced while they are sent, with much work.
    Long(Body),
    /// The events of another server's watch, which the connection's task passes on.
    Forwarded(Body),
    /// The events of a watch, which the connection's task writes without copying the objects.
    ///
    /// Kubernetes concept: the long-running requests of `BasicLongRunningRequestCheck`.
    Watch(Box<dyn Events>),
    /// The response has no body, and its connection changes the protocol.
    Upgraded(Option<UntilUpgradeEnds>),
}

/// The events of a watch.
pub trait Events: HttpBody<Data = Pieces, Error = Infallible> + Send + Unpin {
    /// Keeps a value until the events that exist at the start of the watch have been written, but not longer than this
    /// time, if the client does not read them.
    ///
    /// Kubernetes concept: the initialization signal of a watch.
    fn keep_until_initialized(&mut self, value: Box<dyn Send>, at_most: Duration);
}

/// Passes a value to the task of an upgraded connection, which drops it at the end of the connection.
pub(super) type UntilUpgradeEnds = oneshot::Sender<Box<dyn Send>>;

// === impl ResponseBody ===

impl ResponseBody {
    /// Returns a body without bytes.
    pub fn empty() -> Self {
        Delivery::Ready(Bytes::new()).into()
    }

    /// Returns a body of bytes that are produced while they are sent, with little work.
    pub fn stream<B>(bytes: B) -> Self
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        Delivery::Stream(Body::new(bytes)).into()
    }

    /// Returns the way in which the body is delivered.
    pub const fn delivery(&self) -> &Delivery {
        &self.0.delivery
    }

    /// Returns whether the response counts as sent when it is created.
    pub fn is_small(&self) -> bool {
        self.size_hint().exact().is_some_and(|bytes| bytes <= SMALL_BYTES)
    }

    /// Adds an observer.
    pub fn observe(&mut self, observer: impl Observer + 'static) {
        self.0.observers.add(observer);
    }

    /// Keeps a value until the response has been sent, or is dropped.
    pub fn keep(&mut self, value: impl Send + 'static) {
        self.observe(Kept::new(value));
    }

    /// Keeps a value like [`keep`](Self::keep), but that of an upgraded connection until the connection ends.
    pub fn keep_until_end(&mut self, value: Box<impl Send + 'static>) {
        match &mut self.0.delivery {
            Delivery::Upgraded(end) => {
                // A connection that has ended already drops it at once.
                let _ = end.take().map(|end| end.send(value));
            }
            _ => self.keep(value),
        }
    }

    /// Keeps a value until the initial events of a watch have been written, but not longer than this time. Other responses
    /// drop it at once.
    pub fn keep_until_initialized(&mut self, value: impl Send + 'static, at_most: Duration) {
        if let Delivery::Watch(events) = &mut self.0.delivery {
            events.keep_until_initialized(Box::new(value), at_most);
        }
    }

    /// Returns a body that sends what `wrap` makes of this one, in the same way.
    pub fn wrapped<B>(self, wrap: impl FnOnce(Self) -> B) -> Self
    where
        B: HttpBody<Data = Bytes, Error = axum::Error> + Send + 'static,
    {
        let is_long = matches!(self.0.delivery, Delivery::Long(_));
        let body = Body::new(wrap(self));
        if is_long { Delivery::Long(body).into() } else { Delivery::Stream(body).into() }
    }

    /// Returns a body whose events are those that `change` makes of its own, if it is that of a watch.
    pub fn map_events(self, change: impl FnOnce(Box<dyn Events>) -> Box<dyn Events>) -> Self {
        let Delivered { delivery, observers } = *self.0;
        let delivery = match delivery {
            Delivery::Watch(events) => Delivery::Watch(change(events)),
            other => other,
        };
        Self(Box::new(Delivered { delivery, observers }))
    }

    /// Returns the next frame as pieces, so that the objects of events are not copied.
    pub fn poll_pieces(
        &mut self,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pieces>, axum::Error>>> {
        let Delivery::Watch(events) = &mut self.0.delivery else {
            let frame = ready!(Pin::new(self).poll_frame(task));
            return Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(Pieces::from))));
        };
        let Some(Ok(frame)) = ready!(Pin::new(events).poll_frame(task)) else {
            self.0.observers.end();
            return Poll::Ready(None);
        };
        Poll::Ready(Some(Ok(frame)))
    }

    /// Returns the next frame of bytes. The objects of events are copied.
    fn poll_bytes(&mut self, task: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.0.delivery {
            Delivery::Ready(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Delivery::Stream(body) | Delivery::Long(body) | Delivery::Forwarded(body) => {
                Pin::new(body).poll_frame(task)
            }
            Delivery::Watch(events) => {
                let frame = ready!(Pin::new(events).poll_frame(task));
                let copied = frame.map(|Ok(frame)| {
                    Ok(frame.map_data(|mut pieces| pieces.copy_to_bytes(pieces.remaining())))
                });
                Poll::Ready(copied)
            }
            Delivery::Upgraded(_) => Poll::Ready(None),
        }
    }
}

impl From<Delivery> for ResponseBody {
    fn from(delivery: Delivery) -> Self {
        Self(Box::new(Delivered { delivery, observers: Observers::none() }))
    }
}

impl From<Bytes> for ResponseBody {
    fn from(bytes: Bytes) -> Self {
        Delivery::Ready(bytes).into()
    }
}

impl From<String> for ResponseBody {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for ResponseBody {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(self.poll_bytes(task));
        match &frame {
            Some(Ok(frame)) => self.0.observers.sent(frame.data_ref().map_or(0, Bytes::len)),
            Some(Err(_)) => {}
            None => self.0.observers.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.0.delivery {
            Delivery::Ready(bytes) => bytes.is_empty(),
            Delivery::Stream(body) | Delivery::Long(body) | Delivery::Forwarded(body) => body.is_end_stream(),
            Delivery::Watch(_) => false,
            Delivery::Upgraded(_) => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0.delivery {
            Delivery::Ready(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Delivery::Stream(body) | Delivery::Long(body) | Delivery::Forwarded(body) => body.size_hint(),
            Delivery::Watch(_) => SizeHint::default(),
            Delivery::Upgraded(_) => SizeHint::with_exact(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::{BodyExt as _, StreamBody};

    use super::*;

    fn two_frames() -> ResponseBody {
        let frames = ["ab", "cde"].map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
        ResponseBody::stream(StreamBody::new(futures::stream::iter(frames)))
    }

    #[tokio::test]
    async fn observers_learn_the_sizes_and_end_with_the_body() {
        struct Sum(Arc<std::sync::atomic::AtomicUsize>);

        impl Observer for Sum {
            fn sent(&mut self, bytes: usize) {
                self.0.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
            }
        }

        let sum = Arc::default();
        let kept = Arc::new(());
        let mut body = two_frames();
        body.observe(Sum(Arc::clone(&sum)));
        body.keep(kept.clone());
        assert!(body.frame().await.unwrap().is_ok());
        assert_eq!((sum.load(std::sync::atomic::Ordering::Relaxed), Arc::strong_count(&kept)), (2, 2));
        assert!(body.frame().await.unwrap().is_ok());
        assert!(body.frame().await.is_none());
        assert_eq!((sum.load(std::sync::atomic::Ordering::Relaxed), Arc::strong_count(&kept)), (5, 1));
    }

    #[tokio::test]
    async fn observers_end_with_a_body_that_is_dropped() {
        let kept = Arc::new(());
        let mut body = two_frames();
        body.keep(kept.clone());
        let body = body.wrapped(|inner| inner);
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(body);
        assert_eq!(Arc::strong_count(&kept), 1);
    }

    #[tokio::test]
    async fn an_upgraded_connection_keeps_a_value_longer_than_its_response() {
        let kept = Arc::new(());
        let (end, connection) = oneshot::channel();
        let mut body = ResponseBody::from(Delivery::Upgraded(Some(end)));
        body.keep_until_end(Box::new(kept.clone()));
        drop(body);
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(connection);
        assert_eq!(Arc::strong_count(&kept), 1);
    }

    #[tokio::test]
    async fn complete_bytes_have_a_size_and_are_one_frame() {
        let mut body = ResponseBody::from("text");
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(4), false));
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "text");
        assert!(body.is_end_stream() && body.frame().await.is_none());
        assert!(ResponseBody::empty().is_end_stream());
    }
}
