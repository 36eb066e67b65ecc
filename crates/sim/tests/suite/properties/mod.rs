//! Random requests on random tiny devices at their highest legal fill, with every option, under every scheme.
//!
//! Each case runs three times: with tags (every read compared, every failure tried, at many instants), with bytes (a naive content
//! against a naive array, and the plain rule of each row, whenever nothing is in flight), and through `Simulation`, whose result checks its
//! counts. All three must complete every request at the same times. Cases are numbered; a failing one prints how to replay it.

mod bytes;
mod case;
mod test_only;

use crate::support::{has_map_on_flash, proving, ssds};
use bytes::{Bytes, Redundancy};
use case::{Case, Drive, buffered, buffered_cases, cases, dftl_cases, hybrid_cases, nvram, nvram_cases, sectored};
use flashraid_redundancy::{Choice, Job, SCHEMES, Scheme, find};
use flashraid_sim::assemble::Assembled;
use flashraid_sim::engine::content::Content;
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::engine::{CompletedRequest, Engine};
use flashraid_sim::media::{Flash, Media, SsdArray};
use flashraid_sim::{Config, Simulation, Source, verify};
use flashraid_vocabulary::{Action, Cause, HostRequest, Lpn, Version};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config as Rules, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many times as many cases a proof runs as a test names, and by how much `make test` divides that number.
const PROOF: u64 = 2;
const SLICE: u64 = 40;
/// Pages that looks between two events may scan for each event, on average: nearly all of a case's time goes into them. How
/// rarely that may be is what `tags_convict_faults` shows.
const PROOF_PAGES_AN_EVENT: u64 = 120;
const SLICE_PAGES_AN_EVENT: u64 = 15;

/// Runs numbered cases: a slice (`FLASHRAID_PROVE`: all, and more), or as many as `FLASHRAID_CASES` says, or the one that `FLASHRAID_CASE` names.
fn for_cases(test: &str, count: u64, strategy: impl Strategy<Value = Case>, check: impl Fn(&Case)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let numbers = match number("FLASHRAID_CASE") {
        Some(case) => case..case + 1,
        None => 0..number("FLASHRAID_CASES").unwrap_or(proving(PROOF * count, count.div_ceil(SLICE))),
    };
    for case in numbers {
        let mut runner = runner_of(case);
        let tree = strategy.new_tree(&mut runner).expect("no filters");
        let outcome = runner.run_one(tree, |case| {
            let result = catch_unwind(AssertUnwindSafe(|| check(&case)));
            result.map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                TestCaseError::fail(text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default())
            })
        });
        if let Err(TestError::Fail(reason, smallest)) = outcome {
            panic!(
                "case {case} of {test}: {reason}\nsmallest: {smallest:?}\n\
                 replay: FLASHRAID_CASE={case} cargo test -p flashraid-sim --test suite -- --exact {test}"
            );
        }
    }
}

/// The case of this number.
fn case_of(number: u64, strategy: &impl Strategy<Value = Case>) -> Case {
    strategy.new_tree(&mut runner_of(number)).expect("no filters").current()
}

/// What draws the case of this number.
fn runner_of(case: u64) -> TestRunner {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&case.to_le_bytes());
    let rules = Rules { failure_persistence: None, max_shrink_iters: 400, ..Rules::default() };
    TestRunner::new_with_rng(rules, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Looks at an engine now and then; more often if that is cheap.
struct Watch<'a, C: Content, M: Media> {
    /// Pages that may be scanned before the next look, and how many more with each event.
    credit: u64,
    pages_an_event: u64,
    look: &'a dyn Fn(&Engine<C, M>),
}

impl<C: Content, M: Media> Watch<'_, C, M> {
    fn event(&mut self, engine: &Engine<C, M>) {
        let pages = engine.executor.media.ssds().iter().map(|ssd| ssd.settings.geometry.physical_pages()).sum();
        self.credit += self.pages_an_event;
        if self.credit >= pages {
            self.credit -= pages;
            (self.look)(engine);
        }
    }
}

/// Drives requests through an engine, event by event. `submitting` is told of each request; `quiet` looks whenever nothing is in flight.
fn drive<C: Content, M: Media>(
    engine: &mut Engine<C, M>,
    requests: &[HostRequest],
    drive: Drive,
    look: &dyn Fn(&Engine<C, M>),
    quiet: impl Fn(&Engine<C, M>),
) -> Vec<CompletedRequest> {
    let mut watch = Watch { credit: 0, pages_an_event: proving(PROOF_PAGES_AN_EVENT, SLICE_PAGES_AN_EVENT), look };
    let end = |engine: &mut Engine<C, M>, watch: &mut Watch<C, M>| {
        // As `Simulation::finish` does: while everything comes to its end, nothing leaves a buffer by itself.
        engine.front_end.set_destaging(false);
        while engine.advance().unwrap_or_else(|error| panic!("{error}")) {
            watch.event(engine);
        }
        engine.front_end.set_destaging(true);
        assert_eq!(engine.outstanding(), 0);
        quiet(engine);
    };
    for (index, request) in requests.iter().enumerate() {
        if drive.queue_depth > 0 {
            while engine.outstanding() >= drive.queue_depth {
                engine.advance().unwrap_or_else(|error| panic!("{error}"));
                watch.event(engine);
            }
        } else {
            let arrival_ns = request.arrival_ns.max(engine.now_ns());
            while engine.next_event_ns().is_some_and(|time_ns| time_ns <= arrival_ns) {
                engine.advance().unwrap_or_else(|error| panic!("{error}"));
                watch.event(engine);
            }
            engine.advance_until(arrival_ns).unwrap_or_else(|error| panic!("{error}"));
        }
        engine.submit(request, true);
        watch.event(engine);
        if index % drive.quiet_every == drive.quiet_every - 1 {
            end(engine, &mut watch);
        }
    }
    end(engine, &mut watch);
    every_request_completed(&engine.front_end.completed, requests.len());
    let failed = engine.survey().buffer.map(|buffer| (buffer.counts.failed_no_space, buffer.counts.failed_lost));
    assert!(failed.is_none_or(|failed| failed == (0, 0)), "evictions failed: {failed:?}");
    engine.front_end.completed.clone()
}

fn every_request_completed(completed: &[CompletedRequest], requests: usize) {
    let mut sequences: Vec<u64> = completed.iter().map(|completed| completed.sequence).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (0..requests as u64).collect::<Vec<_>>(), "each request completes once");
    assert!(completed.iter().all(|completed| completed.ok), "a request failed: {:?}", completed.iter().find(|completed| !completed.ok));
    assert!(completed.is_sorted_by_key(|completed| completed.completed_ns));
}

fn check_engine<C: Content, M: Media>(engine: &Engine<C, M>) {
    engine.executor.media.check().unwrap_or_else(|error| panic!("at {} ns: {error}", engine.now_ns()));
}

/// What a scheme places in mirror groups, and what GC moves, never leaves its group (SPEC 2.4).
fn check_groups<C: Content, M: Media>(engine: &Engine<C, M>, config: &Config) {
    let entry = find(&config.scheme.name).expect("a scheme");
    let Some(groups) = entry.groups(&config.build()).expect("a legal number") else { return };
    let (media, shape) = (&engine.executor.media, engine.executor.media.shape());
    assert_eq!(shape.ssds, 1, "mirror groups are in one SSD");
    let (members, channels) = (shape.members, media.ssds()[0].settings.geometry.channels / groups);
    let mut next = 0;
    while let Some(slot) = media.next_mapped(next, shape.pages_per_member * members) {
        let address = shape.page(slot);
        let ppn = media.lookup(address, Version::Current).expect("a mapped page");
        let channel = media.place_of(ppn).channel;
        assert_eq!(channel / channels, u32::from(address.member.0) / (members / groups), "{address:?} lies on channel {channel}");
        next = slot + 1;
    }
}

/// What was planned is what the NAND did, once nothing is in flight.
fn check_counts<C: Content, M: Media>(engine: &Engine<C, M>) {
    let counts = engine.executor.media.counts();
    for (action, planned) in engine.executor.statistics.planned.iter().enumerate() {
        for cause in Cause::ALL.into_iter().filter(|cause| !matches!(cause, Cause::Gc | Cause::Wear)) {
            assert_eq!(planned[cause as usize], counts[action][cause as usize], "{}", cause.name());
        }
    }
    for (action, cause) in (0..3).flat_map(|action| Cause::ALL.map(|cause| (action, cause))) {
        let by_lun: u64 = engine.executor.media.luns().iter().map(|lun| lun.operations[action][cause as usize]).sum();
        assert_eq!(by_lun, counts[action][cause as usize], "{action} {}", cause.name());
    }
    // Copies of a page in its member go to mirror chips, and nothing else does.
    for lun in engine.executor.media.luns().into_iter().filter(|_| engine.executor.media.shape().has_mirrors) {
        let is_mirror = lun.is_of_mirror_chip;
        let programs = &lun.operations[Action::Program as usize];
        let moved = programs[Cause::Gc as usize] + programs[Cause::Wear as usize];
        assert_eq!(programs[Cause::Mirror as usize], if is_mirror { programs.iter().sum::<u64>() - moved } else { 0 });
    }
}

/// Runs the case with tags, then with bytes, and compares the completions, which are returned.
fn check_case(
    case: &Case,
    config: &Config,
    scheme: &dyn Fn() -> Box<dyn Scheme>,
    job: &dyn Fn() -> Option<Box<dyn Job>>,
    redundancy: Redundancy,
) -> Vec<CompletedRequest> {
    let space_pages = config.space_bytes(&*scheme()) / u64::from(config.device.page_bytes);
    let mut filled = (case.fill * space_pages as f64).floor() as u64;
    if redundancy == Redundancy::Late {
        // The fill of a part of a stripe would be one late row more.
        filled -= filled % u64::from(scheme().width());
    }
    fn replace<C: Content, M: Media>(engine: &mut Engine<C, M>, config: &Config) {
        if replaces(config) {
            engine.replace(0).expect("a living SSD, and a spare one");
        }
    }
    let (times, same) = match config.array.is_single() {
        true => (
            drive_tags::<Flash>(case, config, scheme, job, filled, |_| {}),
            drive_bytes::<Flash>(case, config, scheme, job, redundancy, filled, |_| {}),
        ),
        false => (
            drive_tags::<SsdArray>(case, config, scheme, job, filled, |engine| replace(engine, config)),
            drive_bytes::<SsdArray>(case, config, scheme, job, redundancy, filled, |engine| replace(engine, config)),
        ),
    };
    assert_eq!(times, same, "contents must not influence times");
    times
}

/// Whether an SSD is replaced under the requests: if the scheme does that, and leaves it readable, as bytes know of no failures.
fn replaces(config: &Config) -> bool {
    let entry = find(&config.scheme.name).expect("a scheme");
    entry.replaces_devices && !entry.takes_devices_out && config.array.spare_devices > 0
}

/// Runs the case with tags. `prepare` is given the engine before the first request.
fn drive_tags<M: Assembled>(
    case: &Case,
    config: &Config,
    scheme: &dyn Fn() -> Box<dyn Scheme>,
    job: &dyn Fn() -> Option<Box<dyn Job>>,
    filled: u64,
    prepare: impl Fn(&mut Engine<Tags, M>),
) -> Vec<CompletedRequest> {
    let mut tagged = crate::support::engine_on(config, scheme(), crate::support::tags(config));
    let page_bytes = u64::from(config.device.page_bytes);
    let requests = case.requests(tagged.space_pages() * page_bytes, page_bytes);
    tagged.fill(filled);
    job().into_iter().for_each(|job| tagged.executor.add_job(&mut tagged.front_end, job));
    prepare(&mut tagged);
    let look = |engine: &Engine<_, M>| {
        check_engine(engine);
        check_groups(engine, config);
        let found = verify::stored(engine);
        assert!(found.is_clean() && engine.executor.content.mismatches == 0, "at {} ns: {found:?}", engine.now_ns());
    };
    let quiet = |engine: &Engine<_, M>| {
        look(engine);
        check_counts(engine);
    };
    drive(&mut tagged, &requests, case.drive, &look, quiet)
}

/// Runs the case with bytes. `prepare` is given the engine before the first request.
fn drive_bytes<M: Assembled>(
    case: &Case,
    config: &Config,
    scheme: &dyn Fn() -> Box<dyn Scheme>,
    job: &dyn Fn() -> Option<Box<dyn Job>>,
    redundancy: Redundancy,
    filled: u64,
    prepare: impl Fn(&mut Engine<Bytes, M>),
) -> Vec<CompletedRequest> {
    let page_bytes = config.device.page_bytes;
    let space_pages = config.space_bytes(&*scheme()) / u64::from(page_bytes);
    let requests = case.requests(space_pages * u64::from(page_bytes), page_bytes.into());
    let mut content = Bytes::new(ssds(config) * config.device.ppn_limit(), space_pages, page_bytes);
    content.requests.clone_from(&requests);
    let mut naive = crate::support::engine_on(config, scheme(), content);
    naive.fill(filled);
    job().into_iter().for_each(|job| naive.executor.add_job(&mut naive.front_end, job));
    prepare(&mut naive);
    drive(&mut naive, &requests, case.drive, &|_| {}, |engine| Bytes::check_quiet(engine, redundancy))
}

/// Registered schemes run through `Simulation` too, as far as it knows the way of driving.
fn check_simulation(case: &Case, config: Config, times: &[CompletedRequest]) {
    if case.drive.queue_depth > 0 || case.drive.quiet_every < case.raw.len() {
        return;
    }
    let replaces = replaces(&config);
    let mut simulation = Simulation::new(config, |_| true).unwrap();
    if replaces {
        simulation.replace(0).unwrap();
    }
    let page_bytes = u64::from(simulation.config().device.page_bytes);
    let space_bytes = simulation.space_bytes();
    let requests = case.requests(space_bytes, page_bytes);
    if requests.iter().any(|request| request.offset_bytes + request.size_bytes > space_bytes) {
        return; // it takes no request that goes on at the start of the space
    }
    for request in &requests {
        simulation.submit(request).unwrap();
    }
    simulation.finish().unwrap();
    simulation.verify().unwrap();
    assert_eq!(simulation.take_completed(), times);
    let result = simulation.result(&Source::default(), false, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.requests.completed, case.raw.len() as u64);
    assert_eq!((result.requests.unfinished, result.requests.failed.no_space), (0, 0));
    let found = result.verify.expect("contents are tracked").found;
    assert_eq!((found.mismatches, found.pages_lost), (0, 0));
}

/// What the scheme keeps between the members of a row.
fn redundancy(config: &Config) -> Redundancy {
    let entry = find(&config.scheme.name).expect("a scheme");
    let keeps = |choice: Choice| config.build().choice(choice.parameter) == Ok(choice.word);
    match entry.redundancy {
        flashraid_redundancy::Redundancy::None => Redundancy::None,
        // Halves, thirds and so on have the same pages at the same places, as have mirror groups and pairs. Of copies elsewhere the tags know.
        flashraid_redundancy::Redundancy::Copies => {
            let scheme = config.build_scheme().expect("a legal scheme");
            let mut copies = vec![scheme.locate(Lpn(0))];
            scheme.redundancy_of(Lpn(0), &mut copies);
            match copies[..] {
                [first, second, ..] if copies.iter().all(|copy| copy.page == first.page) => {
                    Redundancy::Mirror { copies: copies.len() as u16, step: second.member.0 - first.member.0 }
                }
                _ => Redundancy::None,
            }
        }
        flashraid_redundancy::Redundancy::Parity if entry.mirror_chips > 0 => Redundancy::Copied,
        // What flash holds of a row adds up with what NVRAM holds: the tags know.
        flashraid_redundancy::Redundancy::Parity if entry.parity_cache.is_some() => Redundancy::None,
        // A shadow is beside the row.
        flashraid_redundancy::Redundancy::Parity if entry.keeps_shadows.is_some_and(keeps) => Redundancy::None,
        flashraid_redundancy::Redundancy::Parity if entry.failures > 1 => Redundancy::TwoParities,
        flashraid_redundancy::Redundancy::Parity => Redundancy::Parity,
    }
}

fn registered(test: &str, scheme: &'static str, count: u64, strategy: impl Strategy<Value = Case>) {
    for_cases(test, count, strategy, |case| {
        let config = case.config(scheme);
        let times = check_case(case, &config, &|| config.build_scheme().unwrap(), &|| None, redundancy(&config));
        check_simulation(case, config, &times);
    });
}

/// Every scheme that survives at any time what it declares to survive: on page mapping, on others, and behind buffers. The tests below have more cases
/// of what differs from scheme to scheme.
#[test]
fn every_scheme() {
    for entry in SCHEMES.iter().filter(|entry| !entry.has_window) {
        println!("{}", entry.name);
        let name = entry.name;
        registered("every_scheme", name, 15, cases(name, 0.2));
        match has_map_on_flash(entry) {
            true => registered("every_scheme", name, 5, buffered(dftl_cases(name))),
            false => registered("every_scheme", name, 5, buffered(cases(name, 0.2))),
        }
        registered("every_scheme", name, 5, nvram(cases(name, 0.2)));
        if entry.mirror_chips == 0 && entry.mirror_groups.is_none() {
            registered("every_scheme", name, 5, hybrid_cases(name));
        }
    }
}

/// The same where pages that are written in part are not always read: what is left out must be what nobody needs.
#[test]
fn every_scheme_by_sectors() {
    for entry in SCHEMES.iter().filter(|entry| !entry.has_window) {
        println!("{}", entry.name);
        let name = entry.name;
        registered("every_scheme_by_sectors", name, 15, sectored(cases(name, 0.2)));
        match has_map_on_flash(entry) {
            true => registered("every_scheme_by_sectors", name, 10, sectored(buffered(dftl_cases(name)))),
            false => registered("every_scheme_by_sectors", name, 10, sectored(buffered(cases(name, 0.2)))),
        }
        registered("every_scheme_by_sectors", name, 10, sectored(nvram(cases(name, 0.2))));
        if entry.mirror_chips == 0 && entry.mirror_groups.is_none() {
            registered("every_scheme_by_sectors", name, 5, sectored(hybrid_cases(name)));
        }
    }
}

#[test]
fn raid0() {
    registered("raid0", "raid0", 50, cases("raid0", 0.0));
}

#[test]
fn raid1() {
    registered("raid1", "raid1", 50, cases("raid1", 0.0));
}

#[test]
fn sirf1() {
    registered("sirf1", "sirf1", 100, cases("sirf1", 0.0));
}

#[test]
fn raid4() {
    registered("raid4", "raid4", 50, cases("raid4", 0.0));
}

#[test]
fn raid5() {
    registered("raid5", "raid5", 100, cases("raid5", 0.0));
}

#[test]
fn cr5m() {
    registered("cr5m", "cr5m", 100, cases("cr5m", 0.1));
}

/// Hardly ever short of credit: what ends a mirrored stripe is writes.
#[test]
fn cr5m_with_room() {
    registered("cr5m_with_room", "cr5m", 35, cases("cr5m", 0.4));
}

/// No base fits: only what was never written is mirrored.
#[test]
fn cr5m_without_credit() {
    registered("cr5m_without_credit", "cr5m", 25, cases("cr5m", 0.0));
}

/// Behind a data buffer of a few pages, so that nearly every write evicts.
#[test]
fn buffered_raid0() {
    registered("buffered_raid0", "raid0", 25, buffered_cases("raid0"));
}

#[test]
fn buffered_sirf1() {
    registered("buffered_sirf1", "sirf1", 50, buffered_cases("sirf1"));
}

#[test]
fn buffered_raid5() {
    registered("buffered_raid5", "raid5", 35, buffered_cases("raid5"));
}

#[test]
fn buffered_cr5m() {
    registered("buffered_cr5m", "cr5m", 25, buffered_cases("cr5m"));
}

/// Bytes and the naive array alone, without tags, find each deliberate fault of a buffer within so many cases.
#[cfg(feature = "mutants")]
#[test]
fn bytes_convict_faults_of_a_buffer() {
    use flashraid_sim::mutants::{BUFFER_FAULTS, BufferFault, EngineFault};

    const MOST_CASES: u64 = 60;
    let case_of = |number: u64, is_nvram: bool| {
        let strategy = if is_nvram { nvram_cases("raid0").boxed() } else { buffered_cases("raid0").boxed() };
        strategy.new_tree(&mut runner_of(number)).expect("no filters").current()
    };
    let detects = |case: &Case, fault: Option<BufferFault>| {
        let config = case.config("raid0");
        let space_pages = config.space_bytes(&*config.build_scheme().unwrap()) / u64::from(config.device.page_bytes);
        let filled = (case.fill * space_pages as f64).floor() as u64;
        let inject = |engine: &mut Engine<Bytes>| fault.into_iter().for_each(|fault| engine.inject(EngineFault::Buffer(fault)));
        let run = || drive_bytes::<Flash>(case, &config, &|| config.build_scheme().unwrap(), &|| None, Redundancy::None, filled, inject);
        catch_unwind(AssertUnwindSafe(run)).is_err()
    };
    for (is_nvram, faults) in [(false, &BUFFER_FAULTS[..BUFFER_FAULTS.len() - 2]), (true, &BUFFER_FAULTS[..])] {
        for fault in faults {
            let found = (0..MOST_CASES).find(|number| detects(&case_of(*number, is_nvram), Some(*fault)));
            let number = found.unwrap_or_else(|| panic!("{fault:?} is not found, NVRAM: {is_nvram}"));
            assert!(!detects(&case_of(number, is_nvram), None), "without {fault:?} case {number} is clean");
            println!("{fault:?}, NVRAM: {is_nvram}: case {number}");
        }
    }
}

/// Tags, and looks as rare as they are here, find each deliberate fault within so many cases, those that last only while something
/// is in flight among them.
#[cfg(feature = "mutants")]
#[test]
fn tags_convict_faults() {
    use flashraid_ftl::FlashFault;
    use flashraid_sim::mutants::{EngineFault, FAULTS};

    const MOST_CASES: u64 = 20;
    for fault in FAULTS {
        let (scheme, strategy) = match fault {
            EngineFault::CurrentForBase | EngineFault::DropBase | EngineFault::StaleCopy => ("cr5m", cases("cr5m", 0.1).boxed()),
            EngineFault::StoreMapOnce | EngineFault::SwitchMapEarly | EngineFault::Flash(FlashFault::ForgetMoves) => {
                ("raid5", dftl_cases("raid5").boxed())
            }
            _ => ("raid5", cases("raid5", 0.0).boxed()),
        };
        let detects = |case: &Case, fault: Option<EngineFault>| {
            let config = case.config(scheme);
            let build = || config.build_scheme().unwrap();
            let space_pages = config.space_bytes(&*build()) / u64::from(config.device.page_bytes);
            let filled = (case.fill * space_pages as f64).floor() as u64;
            let inject = |engine: &mut Engine<Tags>| fault.into_iter().for_each(|fault| engine.inject(fault));
            catch_unwind(AssertUnwindSafe(|| drive_tags::<Flash>(case, &config, &build, &|| None, filled, inject))).is_err()
        };
        let case_of = |number: u64| strategy.new_tree(&mut runner_of(number)).expect("no filters").current();
        let found = (0..MOST_CASES).find(|number| detects(&case_of(*number), Some(fault)));
        let number = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        assert!(!detects(&case_of(number), None), "without {fault:?} case {number} is clean");
        println!("{fault:?}: case {number}");
    }
}

/// Behind a write buffer of a few pages in NVRAM, whose evictions nobody waits for.
#[test]
fn nvram_raid0() {
    registered("nvram_raid0", "raid0", 25, nvram_cases("raid0"));
}

#[test]
fn nvram_raid1() {
    registered("nvram_raid1", "raid1", 25, nvram_cases("raid1"));
}

#[test]
fn nvram_raid5() {
    registered("nvram_raid5", "raid5", 50, nvram_cases("raid5"));
}

#[test]
fn nvram_cr5m() {
    registered("nvram_cr5m", "cr5m", 35, nvram_cases("cr5m"));
}

#[test]
fn nvram_sirf1() {
    registered("nvram_sirf1", "sirf1", 25, nvram_cases("sirf1"));
}

#[test]
fn nvram_raid5_dftl() {
    registered("nvram_raid5_dftl", "raid5", 20, nvram(dftl_cases("raid5")));
}

/// Hybrid mapping, whose merges make room page by page of a logical block.
#[test]
fn hybrid_raid0() {
    registered("hybrid_raid0", "raid0", 40, hybrid_cases("raid0"));
}

#[test]
fn hybrid_raid1() {
    registered("hybrid_raid1", "raid1", 25, hybrid_cases("raid1"));
}

#[test]
fn hybrid_raid5() {
    registered("hybrid_raid5", "raid5", 60, hybrid_cases("raid5"));
}

#[test]
fn hybrid_no_pc() {
    registered("hybrid_no_pc", "no-pc", 40, nvram(hybrid_cases("no-pc")));
}

/// Commits before merges: what delays parities keeps semivalid pages in data blocks and log blocks.
#[test]
fn hybrid_ppc() {
    registered("hybrid_ppc", "ppc", 60, hybrid_cases("ppc"));
}

#[test]
fn hybrid_ca_ppc() {
    registered("hybrid_ca_ppc", "ca-ppc", 40, nvram(hybrid_cases("ca-ppc")));
}

#[test]
fn hybrid_fpc() {
    registered("hybrid_fpc", "fpc", 20, nvram(hybrid_cases("fpc")));
}

#[test]
fn raid0_dftl() {
    registered("raid0_dftl", "raid0", 20, dftl_cases("raid0"));
}

#[test]
fn raid1_dftl() {
    registered("raid1_dftl", "raid1", 20, dftl_cases("raid1"));
}

#[test]
fn sirf1_dftl() {
    registered("sirf1_dftl", "sirf1", 25, dftl_cases("sirf1"));
}

#[test]
fn cr5m_dftl() {
    registered("cr5m_dftl", "cr5m", 25, dftl_cases("cr5m"));
}

#[test]
fn buffered_raid5_dftl() {
    registered("buffered_raid5_dftl", "raid5", 20, buffered(dftl_cases("raid5")));
}

#[test]
fn raid5_dftl() {
    registered("raid5_dftl", "raid5", 25, dftl_cases("raid5"));
}
