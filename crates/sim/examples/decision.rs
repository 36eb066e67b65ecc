//! Nanoseconds in which Adaptive chooses between RMW and RCW, on a stripe of eight channels whose queues are full: what `make bench` prints as the cost of a
//! decision. `decision quick` makes a few, to see that it runs.

use flashraid_redundancy::Method;
use flashraid_redundancy::parts::stripe::{Guard, Stripe};
use flashraid_redundancy::parts::update::{Tie, UpdateRule};
use flashraid_redundancy::stripe_map::StripeMap;
use flashraid_redundancy::stripe_map::formula::Formula;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::{Config, assemble};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest, LoadView, MemberId, StripeId};
use std::hint::black_box;
use std::time::Instant;

const DECISIONS: u64 = 2_000_000;
const QUICK: u64 = 200;

fn main() {
    let decisions = if std::env::args().any(|word| word == "quick") { QUICK } else { DECISIONS };
    let settings = [("blocks_per_plane", "64")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = Config::assemble(Some("ssd2"), Some("adaptive"), None, &settings).expect("a device");
    let map = Formula::on_device(&config.build()).expect("a layout");
    let mut engine = assemble::engine::<Untracked, flashraid_sim::media::Flash>(&config, |_, _| Untracked).expect("an engine");
    engine.fill(engine.space_pages());
    let mut random = SplitMix64::new(1);
    for _ in 0..400 {
        let offset_bytes = random.next_u64() % engine.space_pages() * u64::from(config.device.page_bytes);
        let op = if random.next_u64().is_multiple_of(2) { HostOp::Read } else { HostOp::Write };
        let request = HostRequest { arrival_ns: 0, offset_bytes, size_bytes: 4096, op, stream: 0, source: 0 };
        engine.submit(&request, true);
    }
    let waiting: u32 = (0..8).map(|member| engine.executor.media.queued(MemberId(member))).map(|(reads, programs)| reads + programs).sum();
    assert!(waiting > 80, "the queues are not full: {waiting}");
    let rule = UpdateRule::Adaptive(Tie::Rmw);
    let stripes: Vec<_> = (0..64).map(|_| StripeId((random.next_u64() % u64::from(map.stripes())) as u32)).collect();
    let best = (0..3).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "it measures real time")]
        let began = Instant::now();
        let mut chosen = [0u64; 2];
        for decision in 0..decisions {
            let stripe = Stripe::new(map.row(stripes[decision as usize % stripes.len()]), 0, Guard::None);
            let changed = (2 << (decision % 6)) - 1;
            let choice = rule.choose(changed, &stripe, || stripe.reads_of_update(changed), &engine.executor.media);
            chosen[usize::from(choice.method == Method::Rcw)] += 1;
        }
        assert!(black_box(chosen).iter().all(|count| *count > 0), "{chosen:?}: no choice");
        began.elapsed()
    });
    println!("{:.1}", best.min().unwrap_or_default().as_nanos() as f64 / decisions as f64);
}
