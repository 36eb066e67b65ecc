//! What the engine's tests share: devices by a few settings, and engines with what contents and which scheme a test wants.

#![allow(dead_code)] // each test file uses its part

use flashraid_flash::{Flash, Placement};
use flashraid_redundancy::Scheme;
use flashraid_sim::Config;
use flashraid_sim::assemble::{options, settings};
use flashraid_sim::config::Device;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Content;
use flashraid_sim::engine::tags::Tags;
use flashraid_vocabulary::{HostOp, HostRequest};

/// Settings over a preset.
pub fn config(device: &str, scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Config::assemble(Some(device), Some(scheme), None, &pairs).expect("legal settings")
}

/// The drive of the golden results: collections, static wear levelling, sub-page writes.
pub fn small(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let mut all = vec![
        ("blocks_per_plane", "12"),
        ("pages_per_block", "8"),
        ("over_provisioning", "0.3"),
        ("wear_leveling", "static"),
        ("wear_spread", "3"),
        ("fill", "0.9"),
        ("fit", "wrap"),
    ];
    if scheme == "cr5m" {
        all.push(("chips_per_channel", "3"));
    }
    all.extend(pairs);
    config("tiny", scheme, &all)
}

/// The least over-provisioning with which the device is legal under this placement: its highest fill.
pub fn least_over_provisioning(device: &Device, placement: Placement) -> f64 {
    let fits = |ppm: u32| {
        let device = Device { over_provisioning: f64::from(ppm) / 1e6, ..device.clone() };
        device.space_domain(placement).logical_pages <= device.most_logical_pages(placement)
    };
    let (mut low, mut high) = (0, 999_999);
    while low < high {
        let middle = (low + high) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    f64::from(low) / 1e6
}

/// An engine on an erased device, with the configured scheme.
pub fn engine<C: Content>(config: &Config, content: C) -> Engine<C> {
    engine_with(config, config.build_scheme().expect("a legal scheme"), content)
}

/// An engine on an erased device, with a scheme of the test's own.
pub fn engine_with<C: Content>(config: &Config, scheme: Box<dyn Scheme>, content: C) -> Engine<C> {
    let space_pages = config.space_bytes(&*scheme) / u64::from(config.device.page_bytes);
    let settings = settings(&config.device, config.placement(&*scheme), scheme.moves_bases());
    Engine::new(scheme, Flash::new(settings), content, options(config, space_pages))
}

/// Tags for the device, and as many host pages as there could be.
pub fn tags(config: &Config) -> Tags {
    Tags::new(config.device.ppn_limit(), config.device.geometry().physical_pages())
}

/// A request of bytes.
pub fn request(op: HostOp, offset_bytes: u64, size_bytes: u64) -> HostRequest {
    HostRequest { arrival_ns: 0, offset_bytes, size_bytes, op, stream: 0, source: 0 }
}

/// A request of pages of 4 KiB.
pub fn pages(op: HostOp, first: u64, count: u64) -> HostRequest {
    request(op, first * 4096, count * 4096)
}

/// What a scheme that wraps another one, `self.inner`, leaves to it: all but `decide`, `step` and its `Guardian`.
#[allow(unused_macros)]
macro_rules! like_inner {
    () => {
        fn user_pages(&self) -> u64 {
            self.inner.user_pages()
        }
        fn stripes(&self) -> u32 {
            self.inner.stripes()
        }

        fn width(&self) -> u32 {
            self.inner.width()
        }
        fn ended(&mut self, operation: &Operation) {
            self.inner.ended(operation);
        }
        fn fill(&self, index: u64) -> Option<Operation> {
            self.inner.fill(index)
        }
        fn locate(&self, lpn: Lpn) -> MemberPage {
            self.inner.locate(lpn)
        }
        fn stripe_of(&self, lpn: Lpn) -> flashraid_vocabulary::StripeId {
            self.inner.stripe_of(lpn)
        }
        fn redundancy_of(&self, lpn: Lpn, pages: &mut Vec<MemberPage>) {
            self.inner.redundancy_of(lpn, pages);
        }
        fn recover(
            &self,
            lpn: Lpn,
            lost: &flashraid_redundancy::Lost,
            sources: &mut Vec<(MemberPage, flashraid_vocabulary::Version)>,
        ) -> bool {
            self.inner.recover(lpn, lost, sources)
        }
        fn protects(&self) -> flashraid_redundancy::Protects {
            self.inner.protects()
        }
        fn parity_updates(&self) -> ParityUpdates {
            self.inner.parity_updates()
        }
        fn prepared(&mut self) {
            self.inner.prepared();
        }
        fn background(&mut self, view: &dyn flashraid_vocabulary::View) -> Option<Operation> {
            self.inner.background(view)
        }
        fn moves_bases(&self) -> bool {
            self.inner.moves_bases()
        }
        fn commit_cost(&self, address: MemberPage) -> (u32, u32) {
            self.inner.commit_cost(address)
        }
        fn commit_for_collection(&mut self, address: MemberPage, has_room: bool) -> Option<Operation> {
            self.inner.commit_for_collection(address, has_room)
        }
        fn boxed_clone(&self) -> Box<dyn Scheme> {
            Box::new(self.clone())
        }
    };
}
#[allow(unused_imports)]
pub(crate) use like_inner;
