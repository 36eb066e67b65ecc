//! Members, channels, links, dies and wear.

use super::figures::{chi_square, erase_histogram, moments, ratio, since};
use super::measured::Snapshot;
use super::parts::state;
use super::types::{Channel, ChiSquare, Die, HostSideFigures, InUse, Link, Member, Wear};
use crate::engine::Survey;
use crate::media::Inspect;
use crate::simulation::Simulation;
#[cfg(feature = "mutants")]
use flashraid_ftl::accounting::{self, Slip};
use flashraid_vocabulary::{Action, Cause, MemberId};

const PROGRAM: usize = Action::Program as usize;

/// Members, channels, dies and wear.
pub(super) struct Resources {
    pub(super) members: Vec<Member>,
    pub(super) channels: Vec<Channel>,
    pub(super) links: Option<Vec<Link>>,
    pub(super) host_side: Option<HostSideFigures>,
    pub(super) dies: Vec<Die>,
    pub(super) blocked_cv: Option<f64>,
    pub(super) blocked_chi_square: Option<ChiSquare>,
    pub(super) wear: Wear,
    /// Programs of the member with most of them over the mean of those in use.
    pub(super) programs_peak_to_mean: Option<f64>,
}

/// Erase counts of all blocks in use.
fn erase_counts(media: &dyn Inspect) -> Vec<u32> {
    let in_use = media.ssds().into_iter().enumerate().filter(|(_, ssd)| ssd.is_of_member);
    in_use.flat_map(|(number, _)| media.erase_counts_of(number)).collect()
}

impl Simulation {
    /// Members, channels, dies and wear.
    pub(super) fn report_resources(&self, device: &Survey<'_>, now: &Snapshot) -> Resources {
        let (media, start, averaged_from) = (device.media, &self.measured.start, self.measured.averaged_from());
        let averaged_ns = now.now_ns - averaged_from.now_ns;
        let members = media.shape().members;
        let completed = (now.completed - start.completed) as f64;
        let sums: Vec<u64> = now.blocked.iter().zip(&start.blocked).map(|(now, start)| now - start).collect();
        let blocked: Vec<f64> = sums.iter().map(|sum| *sum as f64 / completed.max(1.0)).collect();
        let luns = media.luns();
        let luns_of = |member: u32| -> Vec<usize> { (0..luns.len()).filter(|lun| luns[*lun].member == Some(member)).collect() };
        let parities = |snapshot: &Snapshot, lun: usize| snapshot.flash_luns[lun][PROGRAM][Cause::Parity as usize];
        let parities_of =
            |member: u32| luns_of(member).into_iter().map(|lun| parities(now, lun) - parities(start, lun)).sum::<u64>() as f64;
        let all_parities: f64 = (0..members).map(parities_of).sum();
        let members: Vec<Member> = (0..members)
            .map(|member| {
                let own = luns_of(member);
                let of = |snapshot: &Snapshot, action: usize| own.iter().flat_map(|lun| snapshot.flash_luns[*lun][action]).sum::<u64>();
                let sum = |action: usize| of(now, action) - of(start, action);
                // A chip that was replaced and the one in its place are one.
                let in_use = own.iter().filter(|lun| luns[**lun].is_in_use).count();
                let busy_ns = |snapshot: &Snapshot| own.iter().flat_map(|lun| snapshot.lun_busy_ns[*lun]).map(u128::from).sum::<u128>();
                let latency = &device.statistics.members[member as usize];
                let [p50_ns, p90_ns, p99_ns, p99_9_ns, p99_99_ns] = latency.quantiles_ns([0.5, 0.9, 0.99, 0.999, 0.9999]);
                Member {
                    reads: sum(0),
                    programs: sum(1),
                    erases: sum(2),
                    busy_fraction: ratio((busy_ns(now) - busy_ns(averaged_from)) as f64, in_use as f64 * averaged_ns as f64),
                    mean_blocked: blocked[member as usize],
                    p50_ns,
                    p90_ns,
                    p99_ns,
                    p99_9_ns,
                    p99_99_ns,
                    max_ns: latency.max_ns,
                    free_blocks: own.iter().map(|lun| luns[*lun].free_blocks).sum(),
                    parity_share: if all_parities > 0.0 { parities_of(member) / all_parities } else { 0.0 },
                    state: state(media, MemberId(member as u16)),
                }
            })
            .collect();
        let is_in_use = |member: &usize| luns.iter().any(|lun| lun.member == Some(*member as u32) && lun.is_in_use);
        let programs = || (0..members.len()).filter(is_in_use).map(|member| members[member].programs as f64);
        let programs_peak_to_mean = ratio(programs().fold(0.0, f64::max), moments(programs()).0);
        let channels = now.channel_busy_ns.iter().zip(&start.channel_busy_ns);
        let links = now.link_busy_ns.iter().zip(&start.link_busy_ns);
        let link = |([to_now, from_now], [to_start, from_start]): (&[_; 2], &[_; 2])| Link {
            to_ssd_busy_ns: since(to_now, to_start),
            from_ssd_busy_ns: since(from_now, from_start),
        };
        let [write_link, read_link, controller] = std::array::from_fn(|part| InUse {
            busy_ns: now.host_busy_ns[part] - start.host_busy_ns[part],
            busy_fraction: ratio((now.host_busy_ns[part] - averaged_from.host_busy_ns[part]) as f64, averaged_ns as f64),
        });
        let die = |lun: usize| Die {
            busy_ns: since(&now.lun_busy_ns[lun], &start.lun_busy_ns[lun]),
            programs: since(&now.flash_luns[lun][PROGRAM], &start.flash_luns[lun][PROGRAM]),
        };
        let (mean_blocked, deviation) = moments(blocked.iter().copied());
        let erases = erase_counts(media);
        #[cfg(feature = "mutants")]
        let erases: Vec<u32> = erases.into_iter().filter(|erases| *erases > 0 || !accounting::makes(Slip::WearOfErasedOnly)).collect();
        let (erase_mean, erase_stddev) = moments(erases.iter().copied().map(f64::from));
        Resources {
            members,
            channels: channels.map(|(now, start)| Channel { busy_ns: since(now, start) }).collect(),
            links: (!now.link_busy_ns.is_empty()).then(|| links.map(link).collect()),
            host_side: device.host_side.map(|_| HostSideFigures { write_link, read_link, controller }),
            dies: (0..now.flash_luns.len()).map(die).collect(),
            blocked_cv: ratio(deviation, mean_blocked),
            blocked_chi_square: chi_square(&sums, now.completed - start.completed),
            wear: Wear {
                erase_mean,
                erase_max: erases.iter().copied().max().unwrap_or(0),
                erase_stddev,
                histogram: erase_histogram(erases.iter().copied()),
            },
            programs_peak_to_mean,
        }
    }
}
