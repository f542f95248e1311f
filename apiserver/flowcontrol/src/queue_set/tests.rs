//! The queues with a virtual clock: no test waits, and each gives the same result every time.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;
use registry_core::metrics::Families;

use crate::metrics::FlowControlMetrics;

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn metrics() -> Arc<FlowMetrics> {
    Arc::new(FlowControlMetrics::new(&mut Families::default()).unwrap().flow("level", "schema"))
}

fn queues(count: u32, hand_size: u32, max_length: usize) -> Response {
    Response::Queue { dealer: Dealer::new(count, hand_size).unwrap(), max_length }
}

fn set(response: Response, limit: usize) -> QueueSet {
    let mut set = QueueSet::new(Duration::ZERO, response, limit);
    set.configure(Duration::ZERO, response, limit, limit);
    set
}

/// Requests of one schema; the hash chooses the queue.
#[derive(Clone)]
struct Requests(Arc<FlowMetrics>);

impl Requests {
    fn new() -> Self {
        Self(metrics())
    }

    fn request(&self, hash: u64, work: WorkEstimate) -> Request {
        let distinguisher = hash.to_string().into();
        Request {
            schema: "schema".into(),
            metrics: self.0.clone(),
            distinguisher,
            hash,
            details: "".into(),
            work,
        }
    }

    fn narrow(&self, hash: u64) -> Request {
        self.request(hash, WorkEstimate::seats(1))
    }
}

fn assert_empty(set: &QueueSet) {
    assert!(
        set.reserve.is_unused()
            && set.is_idle()
            && set.queues.is_empty()
            && set.order.is_empty()
            && set.entries.is_empty()
    );
    let numbers = (set.active_queues, set.waiting, set.executing, set.seats_in_use, set.seats_waiting);
    assert_eq!(numbers, (0, 0, 0, 0, 0));
}

#[test]
fn a_flood_waits_behind_itself() {
    let requests = Requests::new();
    let mut set = set(queues(8, 1, 100), 1);
    let Admission::Executing(first) = set.arrive(millis(0), requests.narrow(1)) else { panic!("it is free") };
    let flood: Vec<_> = (0..50).map(|_| set.arrive(millis(0), requests.narrow(1))).collect();
    assert!(flood.iter().all(|admission| matches!(admission, Admission::Waiting(_))));
    let Admission::Waiting(quiet) = set.arrive(millis(1), requests.narrow(2)) else { panic!("it is full") };
    let (sender, mut receiver) = oneshot::channel();
    set.wake_by(quiet, sender);
    let mut running = first;
    let mut served = 0;
    while receiver.try_recv().is_err() {
        served += 1;
        set.leave(millis(1 + 3 * served), running);
        running = executing(&set);
    }
    assert!(served <= 2, "{served} requests of the flood were served before");
}

/// Returns the only request that executes.
fn executing(set: &QueueSet) -> usize {
    let mut running = set.entries.iter().filter(|(_, entry)| entry.started.is_some());
    let (id, _) = running.next().expect("a request executes");
    assert!(running.next().is_none());
    id
}

#[test]
fn a_flow_with_few_seats_does_not_wait_beside_a_flood() {
    let requests = Requests::new();
    let mut set = set(queues(8, 1, 9), 16);
    let wide = |hash| requests.request(hash, WorkEstimate::seats(7));
    let flood = [(); 4].map(|()| set.arrive(millis(0), wide(1)));
    let [Admission::Executing(first), Admission::Executing(_), ..] = flood else { panic!("{flood:?}") };
    assert!(matches!(flood[2], Admission::Waiting(_)), "14 seats are shared, 2 are reserved: {flood:?}");
    assert!(matches!(set.arrive(millis(0), requests.narrow(1)), Admission::Waiting(_)), "it has 14 seats");
    let quiet = [(); 3].map(|()| set.arrive(millis(1), requests.narrow(2)));
    let [Admission::Executing(quiet_id), Admission::Executing(_), Admission::Waiting(waiting)] = quiet else {
        panic!("{quiet:?}")
    };
    let (sender, mut receiver) = oneshot::channel();
    set.wake_by(waiting, sender);
    assert!(matches!(set.arrive(millis(1), requests.narrow(3)), Admission::Waiting(_)), "nothing is left");
    set.leave(millis(2), quiet_id);
    set.leave(millis(2), first);
    assert_eq!(receiver.try_recv(), Ok(()), "it is served before the flood");
    assert!(set.shared_in_use() <= 14 && set.reserve.in_use() <= 2);
}

#[test]
fn many_flows_with_few_seats_do_not_delay_a_wide_request_for_ever() {
    let requests = Requests::new();
    let mut set = set(queues(64, 1, 100), 16);
    let mut running: VecDeque<usize> = VecDeque::new();
    let mut now = 0;
    let mut wide = None;
    for number in 0..200 {
        now += 1;
        if number == 50 {
            let wide_one = requests.request(60, WorkEstimate::seats(10));
            let Admission::Waiting(id) = set.arrive(millis(now), wide_one) else { panic!("it is full") };
            wide = Some(id);
        }
        let (Admission::Executing(id) | Admission::Waiting(id)) =
            set.arrive(millis(now), requests.narrow(number % 50))
        else {
            panic!("the queues are long")
        };
        running.push_back(id);
        // Twenty at a time, of which sixteen find seats.
        if running.len() > 20 {
            let ended = running.pop_front().unwrap();
            set.leave(millis(now), ended);
        }
        if wide.and_then(|id| set.entries.get(id)).is_some_and(|entry| entry.started.is_some()) {
            return;
        }
    }
    panic!("the wide request still waits");
}

#[test]
fn a_request_joins_the_least_loaded_queue_of_its_flow() {
    let requests = Requests::new();
    let mut set = set(queues(8, 3, 100), 1);
    assert!(matches!(set.arrive(millis(0), requests.narrow(0)), Admission::Executing(_)));
    let mut joined = BTreeMap::<u32, usize>::new();
    for _ in 0..30 {
        let Admission::Waiting(id) = set.arrive(millis(0), requests.narrow(0)) else { panic!("it is full") };
        let queue = set.entries.get(id).and_then(|entry| entry.queue).expect("it waits in a queue");
        *joined.entry(queue).or_default() += 1;
    }
    assert_eq!(
        joined,
        BTreeMap::from([(0, 10), (1, 10), (2, 10)]),
        "the hash 0 is dealt the queues 0, 1 and 2"
    );
}

#[test]
fn a_full_queue_refuses_and_other_queues_do_not() {
    let requests = Requests::new();
    let mut set = set(queues(4, 1, 2), 1);
    let admitted: Vec<_> = (0..4).map(|_| set.arrive(millis(0), requests.narrow(0))).collect();
    assert_eq!(admitted[3], Admission::Refused(Refusal::QueueFull), "{admitted:?}");
    assert!(matches!(set.arrive(millis(0), requests.narrow(1)), Admission::Waiting(_)));
}

#[test]
fn a_queue_is_bounded_while_its_oldest_request_waits_for_more_seats_than_are_free() {
    let requests = Requests::new();
    let mut set = set(queues(1, 1, 2), 4);
    assert!(matches!(set.arrive(millis(0), requests.narrow(0)), Admission::Executing(_)));
    let wide = requests.request(0, WorkEstimate::seats(4));
    assert!(matches!(set.arrive(millis(0), wide), Admission::Waiting(_)));
    assert!(matches!(set.arrive(millis(0), requests.narrow(0)), Admission::Waiting(_)));
    assert_eq!(set.arrive(millis(0), requests.narrow(0)), Admission::Refused(Refusal::QueueFull));
}

#[test]
fn without_queues_what_finds_no_seat_is_refused() {
    let requests = Requests::new();
    let mut set = set(Response::Reject, 2);
    let Admission::Executing(first) = set.arrive(millis(0), requests.narrow(0)) else { panic!("it is free") };
    let wide = || requests.request(1, WorkEstimate::seats(2));
    assert_eq!(set.arrive(millis(0), wide()), Admission::Refused(Refusal::ConcurrencyLimit));
    assert!(matches!(set.arrive(millis(0), requests.narrow(1)), Admission::Executing(_)));
    assert_eq!(set.arrive(millis(0), requests.narrow(2)), Admission::Refused(Refusal::ConcurrencyLimit));
    assert_eq!(set.leave(millis(7), first), Some(millis(7)));
    assert!(matches!(set.arrive(millis(8), requests.narrow(2)), Admission::Executing(_)));
}

#[test]
fn exempt_requests_are_counted_and_never_limited() {
    let requests = Requests::new();
    let mut set = set(Response::Exempt, 0);
    let admitted: Vec<_> = (0..100).map(|_| set.arrive(millis(0), requests.narrow(0))).collect();
    assert!(admitted.iter().all(|admission| matches!(admission, Admission::Executing(_))));
    assert_eq!(set.dump(millis(0)).executing, 100);
}

#[test]
fn a_request_wider_than_the_level_executes_alone() {
    let requests = Requests::new();
    let mut set = set(queues(4, 1, 9), 3);
    let Admission::Executing(narrow) = set.arrive(millis(0), requests.narrow(0)) else {
        panic!("it is free")
    };
    let wide = requests.request(1, WorkEstimate::seats(10));
    let Admission::Waiting(wide) = set.arrive(millis(0), wide) else { panic!("it is not alone") };
    set.leave(millis(1), narrow);
    assert_eq!(executing(&set), wide);
    assert!(matches!(set.arrive(millis(1), requests.narrow(2)), Admission::Waiting(_)));
    set.leave(millis(2), wide);
    assert_eq!(set.dump(millis(2)).executing, 1);
}

#[test]
fn seats_are_kept_while_watchers_are_informed() {
    let requests = Requests::new();
    let mut set = set(queues(4, 1, 9), 3);
    let work = WorkEstimate { initial_seats: 1, final_seats: 3, additional_latency: millis(5) };
    let Admission::Executing(write) = set.arrive(millis(0), requests.request(0, work)) else {
        panic!("free")
    };
    let Admission::Waiting(next) = set.arrive(millis(1), requests.narrow(1)) else {
        panic!("three are taken")
    };
    assert_eq!(set.leave(millis(2), write), Some(millis(2)), "the client does not wait for its watchers");
    assert_eq!(set.next_release(), Some(millis(7)));
    assert_eq!(set.release(millis(6)), Some(millis(7)));
    assert_eq!(set.dump(millis(6)).executing, 0);
    assert_eq!(set.release(millis(7)), None);
    assert_eq!(executing(&set), next);
    set.leave(millis(8), next);
    assert_empty(&set);
}

#[test]
fn a_request_that_gives_up_leaves_nothing_behind() {
    let requests = Requests::new();
    let mut set = set(queues(4, 2, 9), 1);
    let Admission::Executing(first) = set.arrive(millis(0), requests.narrow(0)) else { panic!("it is free") };
    for number in 0..50 {
        let Admission::Waiting(id) = set.arrive(millis(number), requests.narrow(number)) else {
            panic!("full")
        };
        assert_eq!(set.leave(millis(number), id), None);
    }
    let dump = set.dump(millis(60));
    assert_eq!((dump.waiting, dump.rejected, dump.cancelled), (0, 50, 50));
    set.leave(millis(60), first);
    assert_empty(&set);
}

#[test]
fn requests_in_queues_that_no_longer_exist_are_served() {
    let requests = Requests::new();
    let mut set = set(queues(16, 1, 9), 1);
    let Admission::Executing(first) = set.arrive(millis(0), requests.narrow(0)) else { panic!("it is free") };
    for hash in 1..16 {
        assert!(matches!(set.arrive(millis(0), requests.narrow(hash)), Admission::Waiting(_)));
    }
    set.configure(millis(1), queues(2, 1, 9), 1, 1);
    set.leave(millis(1), first);
    for step in 2..17 {
        let running = executing(&set);
        set.leave(millis(step), running);
    }
    assert_empty(&set);
    set.configure(millis(20), Response::Reject, 1, 1);
    assert!(matches!(set.arrive(millis(20), requests.narrow(0)), Admission::Executing(_)));
}

#[test]
fn a_quiet_flow_does_not_save_up_its_share() {
    let requests = Requests::new();
    let mut set = set(queues(8, 1, 1000), 1);
    let mut now = 0;
    let mut busy = |set: &mut QueueSet, flows: &[u64], steps: u64| {
        let mut served = BTreeMap::new();
        for _ in 0..steps {
            now += 3;
            for flow in flows {
                // Each flow always has a few requests that wait.
                while set.queues.get(&u32::try_from(*flow).unwrap()).map_or(0, Queue::len) < 3 {
                    set.arrive(millis(now), requests.narrow(*flow));
                }
            }
            let running = executing(set);
            let flow = set.entries.get(running).map(|entry| entry.request.hash).unwrap();
            *served.entry(flow).or_insert(0) += 1;
            set.leave(millis(now + 3), running);
        }
        served
    };
    busy(&mut set, &[1], 1000);
    let both = busy(&mut set, &[1, 2], 100);
    assert!((45..=55).contains(&both[&2]), "a newcomer gets its share, and not more: {both:?}");
}

/// A closed system: each flow has a number of clients, which send the next request when the last one has ended.
struct Simulation {
    set: QueueSet,
    requests: Requests,
    now: Duration,
    /// The ends of executing requests, with their flow and id.
    ends: BTreeMap<(Duration, usize), usize>,
    seat_millis: Vec<u64>,
    /// Width and duration of the requests of each flow.
    flows: Vec<(usize, u64)>,
}

impl Simulation {
    fn new(set: QueueSet, flows: Vec<(usize, u64)>) -> Self {
        let seat_millis = vec![0; flows.len()];
        Self {
            set,
            requests: Requests::new(),
            now: Duration::ZERO,
            ends: BTreeMap::new(),
            seat_millis,
            flows,
        }
    }

    fn send(&mut self, flow: usize) {
        let (seats, _) = self.flows[flow];
        let request = self.requests.request(flow as u64, WorkEstimate::seats(seats));
        let admission = self.set.arrive(self.now, request);
        assert!(!matches!(admission, Admission::Refused(_)), "{admission:?}");
    }

    /// Notes the ends of requests that have begun to execute.
    fn note_started(&mut self) {
        for (id, entry) in &self.set.entries {
            if entry.started == Some(self.now) && !self.ends.values().any(|known| *known == id) {
                let flow = usize::try_from(entry.request.hash).unwrap();
                let end = self.now + millis(self.flows[flow].1);
                self.ends.insert((end, id), id);
            }
        }
    }

    fn run(&mut self, until: Duration) {
        self.note_started();
        while let Some(((end, id), _)) = self.ends.pop_first() {
            if end > until {
                break;
            }
            self.now = end;
            let flow = usize::try_from(self.set.entries.get(id).unwrap().request.hash).unwrap();
            let (seats, milliseconds) = self.flows[flow];
            self.seat_millis[flow] += seats as u64 * milliseconds;
            self.set.leave(self.now, id);
            self.send(flow);
            self.note_started();
        }
    }
}

#[test]
fn flows_get_equal_parts_for_unequal_requests() {
    // Narrow and wide, short and long requests, few and many clients.
    let flows = vec![(1, 3), (2, 3), (1, 40), (2, 15)];
    let mut simulation = Simulation::new(set(queues(16, 1, 1000), 16), flows);
    for (flow, clients) in [(0, 200), (1, 100), (2, 50), (3, 80)] {
        for _ in 0..clients {
            simulation.send(flow);
        }
    }
    simulation.run(Duration::from_secs(20));
    let total: u64 = simulation.seat_millis.iter().sum();
    assert!(total > 20_000 * 16 * 9 / 10, "seats stay empty: {:?}", simulation.seat_millis);
    for served in &simulation.seat_millis {
        assert!((22..28).contains(&(served * 100 / total)), "{:?}", simulation.seat_millis);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u64, seats: usize, lingers: bool },
    Leave(prop::sample::Index),
    Pass(u64),
    Configure { queues: u32, limit: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..6_u64, 1..5_usize, any::<bool>())
            .prop_map(|(flow, seats, lingers)| Step::Arrive { flow, seats, lingers }),
        7 => any::<prop::sample::Index>().prop_map(Step::Leave),
        3 => (0..20_u64).prop_map(Step::Pass),
        1 => (1..9_u32, 0..24_usize).prop_map(|(queues, limit)| Step::Configure { queues, limit }),
    ];
    prop::collection::vec(step, 1..200)
}

/// Checks the conditions that every state fulfils.
fn check(set: &QueueSet) -> Result<(), TestCaseError> {
    let waiting: Vec<&Entry> =
        set.entries.iter().map(|(_, entry)| entry).filter(|entry| entry.started.is_none()).collect();
    prop_assert_eq!(set.waiting, waiting.len());
    prop_assert_eq!(set.seats_waiting, waiting.iter().map(|entry| entry.seats()).sum::<usize>());
    prop_assert_eq!(set.executing, set.entries.len() - waiting.len());
    let kept: usize = set.lingering.values().map(|lingering| lingering.taken.seats).sum();
    prop_assert!(set.entries.iter().all(|(_, entry)| entry.started.is_some() == entry.taken.is_some()));
    let executing = set.entries.iter().filter(|(_, entry)| entry.started.is_some());
    prop_assert_eq!(set.seats_in_use, kept + executing.map(|(_, entry)| entry.seats()).sum::<usize>());
    prop_assert_eq!(set.active_queues, set.queues.values().filter(|queue| queue.is_active()).count());
    prop_assert_eq!(set.order.len(), set.queues.values().filter(|queue| queue.len() > 0).count());
    for queue in set.queues.values() {
        prop_assert!(!queue.is_unused());
        let own: VecDeque<usize> = queue.ids().collect();
        let work: SeatSeconds =
            own.iter().filter_map(|id| set.entries.get(*id)).map(|entry| entry.total_work).sum();
        prop_assert_eq!(work, queue.waiting_work());
    }
    // Nobody waits for seats that are free.
    if let Some(next) = set.next_queue() {
        let oldest =
            set.queues.get(&next).and_then(Queue::oldest).and_then(|id| set.entries.get(id)).unwrap();
        let has_room = set.has_room_for(oldest.seats()) || set.has_reserve_for(&oldest.request);
        prop_assert!(set.seats_in_use >= set.limit || !has_room);
    }
    Ok(())
}

proptest! {
    #[test]
    fn random_steps_keep_the_numbers_right_and_return_all_seats(steps in steps()) {
        let requests = Requests::new();
        let mut set = set(queues(4, 2, 5), 4);
        let mut now = Duration::ZERO;
        let mut present: Vec<usize> = Vec::new();
        for step in steps {
            match step {
                Step::Arrive { flow, seats, lingers } => {
                    let additional_latency = if lingers { millis(5) } else { Duration::ZERO };
                    let final_seats = if lingers { seats } else { 0 };
                    let work = WorkEstimate { initial_seats: 1, final_seats, additional_latency };
                    match set.arrive(now, requests.request(flow, work)) {
                        Admission::Executing(id) => {
                            let taken = set.entries.get(id).and_then(|entry| entry.taken).unwrap();
                            if taken.is_reserved {
                                prop_assert!(set.reserve.in_use() <= set.reserve_size());
                            } else {
                                let is_alone = set.shared_in_use() == taken.seats;
                                prop_assert!(is_alone || set.shared_in_use() <= set.shared_limit());
                            }
                            present.push(id);
                        }
                        Admission::Waiting(id) => present.push(id),
                        Admission::Refused(why) => prop_assert_eq!(why, Refusal::QueueFull),
                    }
                }
                Step::Leave(index) => {
                    if !present.is_empty() {
                        let at = index.index(present.len());
                        set.leave(now, present.swap_remove(at));
                    }
                }
                Step::Pass(milliseconds) => {
                    now += millis(milliseconds);
                    set.release(now);
                }
                Step::Configure { queues: count, limit } => {
                    set.configure(now, queues(count, 1, 5), limit, limit.max(1));
                }
            }
            check(&set)?;
        }
        for id in present {
            set.leave(now, id);
            check(&set)?;
        }
        set.release(now + millis(1000));
        assert_empty(&set);
    }
}
