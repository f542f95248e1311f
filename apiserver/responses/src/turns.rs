//! Turns of tasks: long work is divided, so that a thread's other tasks run in between.

use std::task::Context;

/// Arranges that the task is woken after the tasks that are ready, and those whose sockets have become ready.
///
/// A poll function calls this before it returns `Pending` although it could go on.
pub fn wake_after_others(context: &mut Context<'_>) {
    let yielded = std::pin::pin!(tokio::task::yield_now());
    // Its first poll registers the task, and is pending.
    let _ = yielded.poll(context);
}
