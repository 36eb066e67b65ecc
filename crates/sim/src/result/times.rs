//! What the times of every run satisfy, whatever was simulated. A figure that breaks one of these rules is a defect of the program,
//! and the run ends with that instead of a result.
//!
//! The bound of what a queue can explain: whenever something is under way, a bus or a host link transfers, the controller or an array works, or an answer
//! of the memory or the latency of a request is due. So the device is not busy for longer than all its transfers, array operations, answers and latencies take one after
//! the other, and no request waits for longer than that.

use super::{Inconsistent, Measured, Snapshot};
use crate::engine::{RebuildRecord, Survey};
use crate::media::{Counts, SsdRecord};
use crate::statistics::Latency;
use flashraid_ftl::{ACTIONS, CellOperation, Settings, Suspensions};
use flashraid_vocabulary::{Action, Cause};

/// The times of a run since measuring began.
#[derive(Clone)]
struct Times<'a> {
    start_ns: u64,
    now_ns: u64,
    /// Idle time until measuring began, and until now.
    idle_ns: (u64, u64),
    /// When a measured request completed last, and the idle time until then.
    last_completion: (u64, u64),
    /// Measured requests that came, and the sum of their arrivals, counted from `start_ns`.
    requests: u64,
    arrivals_ns: u128,
    latencies: &'a [Latency],
    /// Time in use of each bus, of each direction of a host link and of each LUN until measuring began, and until now.
    buses_ns: Vec<(u64, u64)>,
    links_ns: Vec<(u64, u64)>,
    /// The same of the host link to the drive, the one from it, and the controller.
    host_ns: Vec<(u64, u64)>,
    luns_ns: Vec<(u64, u64)>,
    /// The most that each bus can have had to transfer in this time, and that everything took one after the other.
    transfers_ns: Vec<u128>,
    work_ns: u128,
    rebuilds: &'a [RebuildRecord],
}

/// Checks the times of a run.
pub(super) fn check(device: &Survey<'_>, now: &Snapshot, measured: &Measured) -> Result<(), Inconsistent> {
    let start = &measured.start;
    let sums = |start: &[[u64; Cause::COUNT]], now: &[[u64; Cause::COUNT]]| -> Vec<(u64, u64)> {
        start.iter().zip(now).map(|(start, now)| (start.iter().sum(), now.iter().sum())).collect()
    };
    let ssds = device.media.ssds();
    let (transfers_ns, arrays_ns) = work_ns(&ssds, now, start);
    // Reads of units that are not programmed yet; those under way are among the outstanding.
    let memory_ns = ssds.iter().filter(|ssd| ssd.settings.packs()).map(|ssd| ssd.settings.memory.read_ns).max().unwrap_or(0);
    let reads = now.counts_since(start)[Action::Read as usize].iter().sum::<u64>() + device.outstanding;
    let links_ns = sums(start.link_busy_ns.as_flattened(), now.link_busy_ns.as_flattened());
    let host_ns: Vec<_> = start.host_busy_ns.into_iter().zip(now.host_busy_ns).collect();
    // Answers that were due when measuring began are among those given since, and those due now among the outstanding.
    let answers = now.completed - start.completed + device.outstanding;
    let answers_ns = u128::from(answers) * device.buffer.map_or(0, |buffer| u128::from(buffer.answer_ns()));
    let latencies_ns = u128::from(answers) * device.host_side.map_or(0, |side| u128::from(side.times().most_latency_ns()));
    Times {
        start_ns: start.now_ns,
        now_ns: now.now_ns,
        idle_ns: (start.idle_ns, now.idle_ns),
        last_completion: device.last_completion,
        requests: measured.requests,
        arrivals_ns: measured.arrivals_ns,
        latencies: &device.statistics.latency,
        buses_ns: sums(&start.channel_busy_ns, &now.channel_busy_ns),
        luns_ns: sums(&start.lun_busy_ns, &now.lun_busy_ns),
        work_ns: transfers_ns.iter().sum::<u128>()
            + arrays_ns
            + answers_ns
            + latencies_ns
            + u128::from(memory_ns) * u128::from(reads)
            + suspensions_ns(&ssds, now, start)
            + u128::from(now.pauses_ns.0 - (start.pauses_ns.0 - start.pauses_ns.1))
            + links_ns.iter().chain(&host_ns).map(|(before_ns, in_use_ns)| u128::from(in_use_ns.saturating_sub(*before_ns))).sum::<u128>(),
        links_ns,
        host_ns,
        transfers_ns,
        rebuilds: device.rebuilds,
    }
    .check()
}

/// How long dies took, one after the other, to suspend work and to go on with it: as often as they did since measuring began, and for each of them one under way
/// then.
fn suspensions_ns(ssds: &[SsdRecord<'_>], now: &Snapshot, start: &Snapshot) -> u128 {
    let of_ssd = |(ssd, (now, start)): (&SsdRecord<'_>, (&Suspensions, &Suspensions))| {
        let given = &ssd.settings.given;
        let before = start.programs + start.erases;
        let times = now.programs + now.erases - before + before.min(ssd.luns as u64);
        u128::from(times) * u128::from(given.suspend_ns + given.resume_ns) * (1 + rests(ssd.settings))
    };
    ssds.iter().zip(now.suspensions.iter().zip(&start.suspensions)).map(of_ssd).sum()
}

/// How long the transfers of each bus, and all array operations, take one after the other: of what was started since measuring began,
/// and of the most that can have been under way then, which is nothing on a LUN that had started nothing.
fn work_ns(ssds: &[SsdRecord<'_>], now: &Snapshot, start: &Snapshot) -> (Vec<u128>, u128) {
    let (mut transfers_ns, mut arrays_ns, mut first) = (Vec::new(), 0, 0);
    for ssd in ssds {
        let luns = first..first + ssd.luns;
        let (transfers, arrays) = work_of_ssd_ns(ssd.settings, &now.flash_luns[luns.clone()], &start.flash_luns[luns.clone()]);
        let units = transfers_of_units_ns(ssd.settings, &now.luns[luns]);
        let channels = transfers_ns.len();
        // Each transfer is followed by those of the slices that share its bus.
        let slices = u128::from(ssd.settings.slices_per_bus);
        transfers_ns.extend(transfers.into_iter().zip(units).map(|(pages_ns, units_ns)| slices * (pages_ns + units_ns)));
        let rests = rests(ssd.settings);
        arrays_ns += arrays + rests * (arrays + transfers_ns[channels..].iter().sum::<u128>());
        first += ssd.luns;
    }
    (transfers_ns, arrays_ns)
}

/// If there is power for a part of a die only: how long at most it rests after each program, in times of that program.
fn rests(settings: &Settings) -> u128 {
    match settings.given.active_dies {
        0 => 0,
        active_dies => (settings.given.slice.div_ceil(active_dies) - 1).into(),
    }
}

/// Whether reads of one flash page that are one operation transfer what each of them wants, so that a unit may cross the bus several times.
fn transfers_units(settings: &Settings) -> bool {
    settings.packs() && !settings.nand().transfers_pages
}

/// How long each bus transfers units that were read, also before measuring began, as these may have been on their way.
fn transfers_of_units_ns(settings: &Settings, now: &[Counts]) -> Vec<u128> {
    let unit_ns = if transfers_units(settings) {
        settings.cell.most_attempts() * settings.nand().transfer_ns(settings.geometry.page_bytes)
    } else {
        0
    };
    let reads = |luns: &[Counts]| luns.iter().map(|counts| counts[Action::Read as usize].iter().sum::<u64>()).sum::<u64>();
    now.chunks(settings.shape().luns_per_channel as usize).map(|luns| u128::from(reads(luns)) * u128::from(unit_ns)).collect()
}

fn work_of_ssd_ns(settings: &Settings, now: &[Counts], start: &[Counts]) -> (Vec<u128>, u128) {
    // Pages of a program: the fewest and the most.
    let most_together = settings.given.program_pages;
    let (page_ns, together) =
        (settings.nand().page_transfer_ns(), if settings.slc.is_some() { settings.given.read_pages } else { most_together });
    let attempts = settings.cell.most_attempts();
    let read_ns = if transfers_units(settings) { 0 } else { page_ns };
    let bus_ns = [
        attempts * (settings.given.read_command_ns + read_ns),
        settings.given.program_command_ns + u64::from(together) * page_ns,
        settings.given.erase_command_ns,
    ];
    let array_ns = [CellOperation::Read, CellOperation::Program, CellOperation::Erase].map(|of| settings.cell.longest_ns(of));
    let total = |counts: &[Counts], lun: usize, action: usize| counts[lun][action].iter().sum::<u64>();
    let work = |lun: usize, each_ns: [u64; ACTIONS]| {
        let of = |action: usize| {
            let pages = u64::from(if action == Action::Program as usize { together } else { 1 });
            let most_pages = match action {
                _ if action == Action::Read as usize => u64::from(settings.given.read_pages),
                _ if action == Action::Program as usize => most_together.into(),
                _ => pages,
            };
            let before = total(start, lun, action);
            let under_way = before.min(u64::from(settings.shape().planes_per_lun) * most_pages);
            u128::from((total(now, lun, action) - before + under_way) / pages) * u128::from(each_ns[action])
        };
        (0..ACTIONS).map(of).sum::<u128>()
    };
    let luns_per_channel = settings.shape().luns_per_channel as usize;
    let channels = 0..now.len() / luns_per_channel;
    let luns = |channel: usize| channel * luns_per_channel..(channel + 1) * luns_per_channel;
    let transfers_ns = channels.map(|channel| luns(channel).map(|lun| work(lun, bus_ns)).sum()).collect();
    (transfers_ns, (0..now.len()).map(|lun| work(lun, array_ns)).sum())
}

/// `Err` with what is told unless `holds`.
fn rule(holds: bool, what: impl FnOnce() -> String) -> Result<(), Inconsistent> {
    if holds { Ok(()) } else { Err(Inconsistent(what())) }
}

impl Times<'_> {
    fn check(&self) -> Result<(), Inconsistent> {
        let Self { start_ns, now_ns, .. } = *self;
        rule(start_ns <= now_ns, || format!("measuring began at {start_ns} ns, and it is {now_ns} ns"))?;
        let busy_ns = self.check_idle_time(now_ns - start_ns)?;
        self.check_latencies(now_ns - start_ns, busy_ns)?;
        self.check_use(now_ns - start_ns)?;
        self.check_rebuilds(busy_ns)
    }

    /// Returns the time that was not idle.
    fn check_idle_time(&self, measured_ns: u64) -> Result<u64, Inconsistent> {
        let Self { start_ns, now_ns, idle_ns: (before_ns, idle_ns), last_completion: (completed_ns, idle_then_ns), .. } = *self;
        rule(before_ns <= idle_ns && idle_ns - before_ns <= measured_ns, || {
            format!("idle for {before_ns} ns before measuring began and {idle_ns} ns in all, of {measured_ns} ns measured")
        })?;
        let since_ns = completed_ns.saturating_sub(start_ns);
        rule(completed_ns <= now_ns && idle_then_ns <= idle_ns && idle_then_ns.saturating_sub(before_ns) <= since_ns, || {
            format!("the last completion at {completed_ns} ns after {idle_then_ns} ns of idle time, of {idle_ns} ns until {now_ns} ns")
        })?;
        let busy_ns = measured_ns - (idle_ns - before_ns);
        let work_ns = self.work_ns;
        rule(u128::from(busy_ns) <= work_ns, || format!("busy for {busy_ns} ns with work of {work_ns} ns at most"))?;
        Ok(busy_ns)
    }

    fn check_latencies(&self, measured_ns: u64, busy_ns: u64) -> Result<(), Inconsistent> {
        let mut sum_ns = 0;
        for latency in self.latencies.iter().filter(|latency| latency.count > 0) {
            let (least_ns, most_ns, count) = (latency.min_ns(), latency.max_ns, latency.count);
            rule(most_ns <= busy_ns, || format!("a latency of {most_ns} ns, of {busy_ns} ns in which anything was under way"))?;
            let range = u128::from(count) * u128::from(least_ns)..=u128::from(count) * u128::from(most_ns);
            rule(range.contains(&latency.sum_ns()), || {
                format!("{count} latencies from {least_ns} to {most_ns} ns add up to {} ns", latency.sum_ns())
            })?;
            sum_ns += latency.sum_ns();
        }
        // If all that came were still under way, they would have waited for so long.
        let most_ns = (u128::from(self.requests) * u128::from(measured_ns)).checked_sub(self.arrivals_ns);
        rule(most_ns.is_some_and(|most_ns| sum_ns <= most_ns), || {
            let (requests, arrivals_ns) = (self.requests, self.arrivals_ns);
            format!("latencies add up to {sum_ns} ns, of {requests} requests with arrivals of {arrivals_ns} ns in all in {measured_ns} ns")
        })
    }

    /// No bus, link or LUN was in use for longer than there was time, and no bus for longer than its transfers take.
    fn check_use(&self, measured_ns: u64) -> Result<(), Inconsistent> {
        for (what, list) in [("bus", &self.buses_ns), ("link", &self.links_ns), ("host stage", &self.host_ns), ("LUN", &self.luns_ns)] {
            for (number, (before_ns, in_use_ns)) in list.iter().enumerate() {
                rule(before_ns <= in_use_ns && in_use_ns - before_ns <= measured_ns, || {
                    format!(
                        "{what} {number} in use for {before_ns} ns before measuring began and {in_use_ns} ns in all, of {measured_ns} ns measured"
                    )
                })?;
            }
        }
        for (number, ((before_ns, in_use_ns), most_ns)) in self.buses_ns.iter().zip(&self.transfers_ns).enumerate() {
            let in_use_ns = in_use_ns - before_ns;
            rule(u128::from(in_use_ns) <= *most_ns, || {
                format!("bus {number} in use for {in_use_ns} ns with transfers of {most_ns} ns at most")
            })?;
        }
        Ok(())
    }

    fn check_rebuilds(&self, busy_ns: u64) -> Result<(), Inconsistent> {
        for rebuild in self.rebuilds {
            let failed_ns = rebuild.faults.iter().map(|(at_ns, _)| *at_ns);
            let (first_ns, last_ns) = (failed_ns.clone().min().unwrap_or(0), failed_ns.max().unwrap_or(0));
            let ends = [rebuild.ended_ns, rebuild.finished_ns];
            let are_in_order = ends.into_iter().flatten().all(|end_ns| (first_ns..=self.now_ns).contains(&end_ns));
            rule(are_in_order && last_ns <= self.now_ns, || {
                format!("a rebuild of what failed from {first_ns} to {last_ns} ns that ended at {ends:?}, and it is {} ns", self.now_ns)
            })?;
            let most_ns = rebuild.latency.max_ns;
            rule(most_ns <= busy_ns, || {
                format!("a latency of {most_ns} ns under a rebuild, of {busy_ns} ns in which anything was under way")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Times;
    use crate::statistics::Latency;

    type Forge = fn(&mut Times<'_>);

    /// Two reads of 100 ns that came at 1,000 and 1,050 ns, 40 ns of idle time before and 10 behind them, measured since 1,000 ns.
    fn legal(latencies: &[Latency]) -> Times<'_> {
        Times {
            start_ns: 1_000,
            now_ns: 1_160,
            idle_ns: (40, 50),
            last_completion: (1_150, 40),
            requests: 2,
            arrivals_ns: 50,
            latencies,
            buses_ns: vec![(7, 107), (0, 60)],
            links_ns: vec![(0, 20)],
            host_ns: vec![(0, 10)],
            luns_ns: vec![(0, 150), (5, 165)],
            transfers_ns: vec![100, 60],
            work_ns: 150,
            rebuilds: &[],
        }
    }

    fn of(latencies_ns: &[u64]) -> [Latency; 1] {
        let mut latency = Latency::default();
        latencies_ns.iter().for_each(|latency_ns| latency.record(*latency_ns));
        [latency]
    }

    #[test]
    fn what_cannot_be_is_told() {
        let latencies = of(&[100, 100]);
        assert_eq!(legal(&latencies).check(), Ok(()));
        let forged: [(&str, Forge); 16] = [
            ("measuring began at 1161 ns", |times| times.start_ns = 1_161),
            ("idle for 40 ns before", |times| times.idle_ns.1 = 39),
            ("idle for 40 ns before", |times| times.idle_ns.1 = 201),
            ("the last completion at 1161 ns", |times| times.last_completion.0 = 1_161),
            ("the last completion at 1150 ns after 51 ns", |times| times.last_completion.1 = 51),
            ("the last completion at 1005 ns after 46 ns", |times| times.last_completion = (1_005, 46)),
            ("busy for 150 ns with work of 149 ns", |times| times.work_ns = 149),
            ("a latency of 100 ns, of 99 ns", |times| times.idle_ns.1 = 101),
            ("latencies add up to 200 ns, of 1 requests", |times| times.requests = 1),
            ("latencies add up to 200 ns, of 2 requests with arrivals of 121 ns", |times| times.arrivals_ns = 121),
            ("bus 0 in use for 7 ns before", |times| times.buses_ns[0].1 = 6),
            ("bus 1 in use for 0 ns before measuring began and 161 ns", |times| times.buses_ns[1].1 = 161),
            ("host stage 0 in use for 0 ns before measuring began and 161 ns", |times| times.host_ns[0].1 = 161),
            ("link 0 in use for 0 ns before measuring began and 161 ns", |times| times.links_ns[0].1 = 161),
            ("LUN 1 in use for 5 ns before measuring began and 166 ns", |times| times.luns_ns[1].1 = 166),
            ("bus 1 in use for 60 ns with transfers of 59 ns", |times| times.transfers_ns[1] = 59),
        ];
        for (expected, forge) in forged {
            let mut times = legal(&latencies);
            forge(&mut times);
            let found = times.check().expect_err(expected).0;
            assert!(found.starts_with(expected), "{found}, not {expected}");
        }
        let late = of(&[100, 151]);
        assert_eq!(legal(&late).check().unwrap_err().0, "a latency of 151 ns, of 150 ns in which anything was under way");
    }

    #[test]
    fn rebuilds_lie_in_the_time_of_the_run() {
        use crate::engine::RebuildRecord;
        use flashraid_vocabulary::{Fault, Part};
        let rebuild = |failed_ns, ended_ns, finished_ns, latencies_ns: &[u64]| {
            let [latency] = of(latencies_ns);
            let faults = vec![(failed_ns, Fault::Loss(Part::Member(0)).into())];
            RebuildRecord { faults, ended_ns, finished_ns, pages: 0, pages_copied: 0, pages_lost: 0, pages_left: 0, latency }
        };
        let check = |rebuild| legal(&of(&[100, 100])).with_rebuild(rebuild);
        assert_eq!(check(rebuild(500, Some(1_160), Some(1_160), &[150])), Ok(()));
        assert_eq!(check(rebuild(500, None, None, &[])), Ok(()));
        for (rebuild, expected) in [
            (rebuild(1_161, None, None, &[]), "a rebuild of what failed from 1161"),
            (rebuild(500, Some(499), None, &[]), "a rebuild of what failed from 500"),
            (rebuild(500, Some(600), Some(1_161), &[]), "a rebuild of what failed from 500"),
            (rebuild(500, None, None, &[151]), "a latency of 151 ns under a rebuild"),
        ] {
            let found = check(rebuild).unwrap_err().0;
            assert!(found.starts_with(expected), "{found}, not {expected}");
        }
    }

    impl Times<'_> {
        fn with_rebuild(&self, rebuild: crate::engine::RebuildRecord) -> Result<(), crate::Inconsistent> {
            Times { rebuilds: &[rebuild], ..self.clone() }.check()
        }
    }

    /// Faults of the flash's clock end a run with a sentence, not with a figure.
    #[cfg(feature = "mutants")]
    #[test]
    fn a_clock_out_of_order_is_an_error() {
        use crate::engine::Engine;
        use crate::engine::content::Untracked;
        use crate::{Config, Simulation, Source};
        use flashraid_ftl::FlashFault;
        use flashraid_vocabulary::{HostOp, HostRequest};
        use std::any::Any;
        let result = |fault: Option<FlashFault>| {
            let config = Config::assemble(Some("tiny"), Some("raid5"), None, &[]).expect("legal settings");
            let mut simulation = Simulation::new(config, |_| true).expect("a legal device");
            let engine: &mut Engine<Untracked> =
                (&mut *simulation.device.engine as &mut dyn Any).downcast_mut().expect("nothing is verified");
            engine.executor.media.nand_mut().mutant = fault;
            for page in 0..4 {
                let request =
                    HostRequest { arrival_ns: 0, offset_bytes: page * 4096, size_bytes: 4096, op: HostOp::Write, stream: 0, source: 0 };
                simulation.submit(&request).expect("a legal request");
            }
            simulation.finish().expect("the end");
            simulation.result(&Source::default(), false, None)
        };
        assert!(result(None).is_ok());
        // Seven times 2^48 ns: reads and programs of the stripes one after the other.
        for (fault, expected) in
            [(FlashFault::LateEvent, "busy for 1970324838127467 ns with work of"), (FlashFault::CountBusTwice, "bus 0 in use for")]
        {
            let found = result(Some(fault)).unwrap_err().to_string();
            assert!(found.contains(expected) && found.ends_with("please report it"), "{found}");
        }
    }
}
