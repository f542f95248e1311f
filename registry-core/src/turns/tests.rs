use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::task::Poll;

use super::*;

const FLOOD: u64 = 1;
const QUIET: u64 = 2;

// === the queue ===

fn flows_of(queue: &mut FairQueue<u64>, turns: usize) -> Vec<u64> {
    (0..turns).filter_map(|_| queue.pop()).map(|(flow, _)| flow).collect()
}

#[test]
fn a_flow_that_arrives_is_before_everything_that_another_has_queued() {
    let mut queue = FairQueue::default();
    (0..100).for_each(|_| queue.push(FLOOD, FLOOD, 50));
    assert_eq!(flows_of(&mut queue, 3), [FLOOD, FLOOD, FLOOD]);
    queue.push(QUIET, QUIET, 10);
    assert_eq!(queue.next_price(), Some(10));
    assert_eq!(flows_of(&mut queue, 2), [QUIET, FLOOD]);
    // Its next turns are before the others, too, as long as it uses less than they do.
    queue.push(QUIET, QUIET, 10);
    assert_eq!(flows_of(&mut queue, 2), [QUIET, FLOOD]);
}

#[test]
fn flows_get_equal_time_and_not_equal_turns() {
    let mut queue = FairQueue::default();
    (0..1_000).for_each(|_| queue.push(FLOOD, FLOOD, 50));
    (0..1_000).for_each(|_| queue.push(QUIET, QUIET, 10));
    let turns = flows_of(&mut queue, 600);
    let of_quiet = turns.iter().filter(|flow| **flow == QUIET).count();
    assert!((495..=505).contains(&of_quiet), "{of_quiet}");
}

#[test]
fn an_idle_flow_saves_nothing() {
    let mut queue = FairQueue::default();
    queue.push(QUIET, QUIET, 10);
    (0..1_000).for_each(|_| queue.push(FLOOD, FLOOD, 10));
    flows_of(&mut queue, 500);
    (0..100).for_each(|_| queue.push(QUIET, QUIET, 10));
    let turns = flows_of(&mut queue, 100);
    let of_quiet = turns.iter().filter(|flow| **flow == QUIET).count();
    assert!((49..=51).contains(&of_quiet), "{of_quiet}");
}

#[test]
fn a_poll_that_was_longer_than_expected_is_charged() {
    let mut queue = FairQueue::default();
    (0..10).for_each(|_| queue.push(FLOOD, FLOOD, 10));
    (0..10).for_each(|_| queue.push(QUIET, QUIET, 10));
    assert_eq!(flows_of(&mut queue, 2), [FLOOD, QUIET]);
    queue.charge(FLOOD, 50);
    assert_eq!(flows_of(&mut queue, 7), [QUIET, QUIET, QUIET, QUIET, QUIET, FLOOD, QUIET]);
}

#[test]
fn tasks_without_limits_are_first_and_leave_every_eighth_turn() {
    let mut queue = FairQueue::default();
    (0..100).for_each(|_| queue.push(FLOOD, FLOOD, 10));
    (0..100).for_each(|_| queue.push(FIRST, FIRST, 10));
    let turns = flows_of(&mut queue, 80);
    assert_eq!(turns.iter().filter(|flow| **flow == FLOOD).count(), 10);
    assert_eq!(turns.first(), Some(&FIRST));
    assert_eq!(flows_of(&mut queue, 1_000).len(), 120, "nothing is lost");
}

#[test]
fn the_number_of_flows_that_are_remembered_is_bounded() {
    let mut queue = FairQueue::default();
    for flow in 1..100_000 {
        queue.push(flow, flow, 50);
        queue.push(flow, flow, 50);
        flows_of(&mut queue, 2);
    }
    assert!(queue.flows() < 200, "{}", queue.flows());
}

// === tasks, polled by hand ===

/// A waker that notes whether it was called.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Polled = Box<dyn FnMut(&mut Context<'_>) -> Poll<()> + Send>;

/// A scheduled task, and the runtime's waker of it.
struct ByHand {
    task: Pin<Box<Scheduled<std::future::PollFn<Polled>, FlowKey>>>,
    bell: Arc<Bell>,
}

impl ByHand {
    fn new(
        turns: &Arc<Turns>,
        flow: u64,
        poll: impl FnMut(&mut Context<'_>) -> Poll<()> + Send + 'static,
    ) -> Self {
        let task = Task::new(turns, FlowKey::new(flow));
        let poll: Polled = Box::new(poll);
        Self { task: Box::pin(Scheduled::new(task, std::future::poll_fn(poll))), bell: Arc::default() }
    }

    fn poll(&mut self) -> Poll<()> {
        self.task.as_mut().poll(&mut Context::from_waker(&Waker::from(self.bell.clone())))
    }

    /// Whether the runtime was asked to poll the task since the last time.
    fn is_woken(&self) -> bool {
        self.bell.0.swap(false, Ordering::Relaxed)
    }

    /// Returns tasks that use all the capacity: woken, and not polled yet.
    fn holding_all_capacity(turns: &Arc<Turns>) -> Vec<Self> {
        let mut holding: Vec<Self> =
            (0..64).map(|_| Self::new(turns, FLOOD, |_| Poll::<()>::Pending)).collect();
        for one in &holding {
            one.task.wake();
        }
        holding.retain(Self::has_turn);
        assert!(!holding.is_empty());
        holding
    }

    fn has_turn(&self) -> bool {
        self.task.has_turn()
    }
}

fn is_unused(turns: &Turns) -> bool {
    turns.state.load(Ordering::Relaxed) == 0
}

#[test]
fn without_contention_a_task_is_polled_at_once() {
    let turns = Turns::new(1);
    let mut rounds = 3;
    let mut task = ByHand::new(&turns, FLOOD, move |context| {
        context.waker().wake_by_ref();
        rounds -= 1;
        if rounds == 0 { Poll::Ready(()) } else { Poll::Pending }
    });
    assert!(task.poll().is_pending());
    assert!(task.is_woken());
    assert!(task.poll().is_pending());
    assert!(task.is_woken());
    assert!(task.poll().is_ready());
    drop(task);
    assert!(is_unused(&turns));
    assert_eq!(turns.waiting(), (0, 0));
}

#[test]
fn the_turn_of_a_dropped_task_is_passed_on() {
    let turns = Turns::new(1);
    let holding = ByHand::holding_all_capacity(&turns);
    let mut waiting = ByHand::new(&turns, QUIET, |_| Poll::Ready(()));
    let (waiting_before, _) = turns.waiting();
    assert!(waiting.poll().is_pending());
    assert_eq!(turns.waiting().0, waiting_before + 1);
    assert!(!waiting.is_woken());
    drop(holding);
    assert!(waiting.is_woken());
    assert!(waiting.poll().is_ready());
    assert!(is_unused(&turns));
}

#[test]
fn a_task_that_is_dropped_while_it_waits_holds_up_nobody() {
    let turns = Turns::new(1);
    let holding = ByHand::holding_all_capacity(&turns);
    let mut gone = ByHand::new(&turns, QUIET, |_| unreachable!("it is not polled"));
    let mut waiting = ByHand::new(&turns, QUIET, |_| Poll::Ready(()));
    assert!(gone.poll().is_pending());
    assert!(waiting.poll().is_pending());
    drop(gone);
    drop(holding);
    assert!(waiting.poll().is_ready());
    assert!(is_unused(&turns));
}

#[test]
fn a_panic_returns_the_turn() {
    let turns = Turns::new(1);
    let mut failing = ByHand::new(&turns, FLOOD, |_| panic!("as it was asked to"));
    assert!(catch_unwind(AssertUnwindSafe(|| failing.poll())).is_err());
    assert!(!is_over(), "the thread has no turn any more");
    drop(failing);
    assert!(is_unused(&turns));
}

#[test]
fn a_thread_that_blocks_returns_its_turn() {
    let turns = Turns::new(1);
    let seen = turns.clone();
    let mut blocking = ByHand::new(&turns, FLOOD, move |_| {
        assert!(!is_unused(&seen));
        give_up();
        assert!(is_unused(&seen));
        give_up();
        Poll::Ready(())
    });
    assert!(blocking.poll().is_ready());
    assert!(is_unused(&turns));
}

#[test]
fn a_task_that_is_woken_while_it_is_polled_waits_behind_others() {
    let turns = Turns::new(1);
    let mut holding = ByHand::holding_all_capacity(&turns);
    let mut quiet = ByHand::new(&turns, QUIET, |_| Poll::Ready(()));
    assert!(quiet.poll().is_pending());
    // Ends its poll, and is ready again.
    let mut again = holding.pop().unwrap();
    again.task.wake();
    assert!(again.poll().is_pending());
    assert!(quiet.poll().is_ready());
    drop((again, holding));
    assert!(is_unused(&turns));
}

// === tasks of a runtime ===

/// Tasks of several flows wake themselves again and again, some are aborted and some panic: all others end, and no part of
/// the capacity is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_task_gets_its_turns_and_all_are_returned() {
    let turns = Turns::new(2);
    let mut running = Vec::new();
    for number in 0..400_u64 {
        let task = Task::new(&turns, FlowKey::new(number % 5));
        let future = Box::pin(async move {
            for round in 0..50 {
                match (number % 7 + round) % 3 {
                    0 => tokio::task::yield_now().await,
                    1 => tokio::time::sleep(Duration::from_micros(number)).await,
                    _ => tokio::spawn(async {}).await.unwrap(),
                }
                assert!(number % 50 != 3 || round < 9, "as it was asked to");
            }
        });
        running.push((number, tokio::spawn(Scheduled::new(task, future))));
    }
    for (number, task) in running {
        if number % 11 == 5 {
            task.abort();
        } else {
            let ended = tokio::time::timeout(Duration::from_mins(1), task).await;
            let ended = ended.unwrap_or_else(|_| panic!("{number} waits for ever: {:?}", turns.waiting()));
            assert_eq!(ended.is_err(), number % 50 == 3, "{number}");
        }
    }
    // Aborted tasks are dropped soon.
    while !is_unused(&turns) {
        tokio::task::yield_now().await;
    }
}
