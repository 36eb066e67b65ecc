//! Stripes need not be rows: by a table some leave members out, are narrower than others, and lie at other local pages of each member. Everything
//! holds all the same: contents, failures and rebuilds, discards that pass over stripes.

use crate::support::{config, engine_with, finish_clean, submit_random, tags};
use flashraid_redundancy::parts::parity_cache::Replacement;
use flashraid_redundancy::parts::update::UpdateRule;
use flashraid_redundancy::schemes::fra::Fra;
use flashraid_redundancy::schemes::raid5::Raid5;
use flashraid_redundancy::schemes::{cr5m, fpc, ppc, raid5};
use flashraid_redundancy::stripe_map::formula::Layout;
use flashraid_redundancy::stripe_map::{Role, Row, StripeMap};
use flashraid_redundancy::{SCHEMES, Scheme};
use flashraid_sim::verify;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Fault, Lpn, MemberId, MemberPage, Part, StripeId};
use std::collections::BTreeMap;
use std::sync::Arc;

const MEMBERS: u16 = 4;

/// Which stripes there are, by drawing lots.
#[derive(Clone)]
struct Table {
    rows: Arc<Vec<TableRow>>,
    first: Arc<Vec<u64>>,
    of_page: Arc<BTreeMap<MemberPage, StripeId>>,
}

flashraid_vocabulary::persistent!(Table { anew [rows, first, of_page], });

/// The strips of a stripe, the parity last.
#[derive(Clone, Copy, Debug)]
struct TableRow {
    pages: [MemberPage; MEMBERS as usize],
    strips: usize,
}

impl Table {
    /// Stripes of three or four strips, as many as fit members of so many pages.
    fn new(pages_per_member: u32, random: &mut SplitMix64) -> Self {
        let mut free: Vec<Vec<u32>> = (0..MEMBERS).map(|_| (0..pages_per_member).collect()).collect();
        let (mut rows, mut first, mut user_pages) = (Vec::new(), Vec::new(), 0);
        loop {
            let mut members: Vec<u16> = (0..MEMBERS).filter(|member| !free[usize::from(*member)].is_empty()).collect();
            while members.len() > 3 + usize::from(random.next_u64().is_multiple_of(3)) {
                members.remove((random.next_u64() % members.len() as u64) as usize);
            }
            if members.len() < 3 {
                break;
            }
            let turn = (random.next_u64() % members.len() as u64) as usize;
            members.rotate_left(turn);
            let mut row = TableRow { pages: [MemberPage::new(0, 0); MEMBERS as usize], strips: members.len() };
            for (page, member) in row.pages.iter_mut().zip(&members) {
                let left = &mut free[usize::from(*member)];
                *page = MemberPage::new(*member, left.swap_remove((random.next_u64() % left.len() as u64) as usize));
            }
            first.push(user_pages);
            user_pages += u64::from(row.width());
            rows.push(row);
        }
        first.push(user_pages);
        let numbered = (0..).map(StripeId).zip(&rows);
        let of_page = numbered.flat_map(|(stripe, row)| row.pages[..row.strips].iter().map(move |page| (*page, stripe))).collect();
        Self { rows: rows.into(), first: first.into(), of_page: Arc::new(of_page) }
    }
}

impl StripeMap for Table {
    type Row = TableRow;

    fn stripes(&self) -> u32 {
        self.rows.len() as u32
    }

    fn most_strips(&self) -> u32 {
        u32::from(MEMBERS) - 1
    }

    fn user_pages(&self) -> u64 {
        self.first[self.rows.len()]
    }

    fn position(&self, lpn: Lpn) -> (StripeId, u32) {
        let stripe = self.first.partition_point(|first| *first <= lpn.0) - 1;
        (StripeId(stripe as u32), (lpn.0 - self.first[stripe]) as u32)
    }

    fn first(&self, stripe: StripeId) -> Lpn {
        Lpn(self.first[stripe.0 as usize])
    }

    fn row(&self, stripe: StripeId) -> TableRow {
        self.rows[stripe.0 as usize]
    }

    fn page_on(&self, stripe: StripeId, member: MemberId) -> MemberPage {
        let row = self.row(stripe);
        match row.role(member).expect("a member of the stripe") {
            Role::Data(index) => row.data(index),
            Role::Parity => row.parity(),
        }
    }

    fn stripe_of(&self, page: MemberPage) -> StripeId {
        self.of_page[&page]
    }

    fn uniform_width(&self) -> Option<u32> {
        None
    }
}

impl Row for TableRow {
    fn width(&self) -> u32 {
        self.strips as u32 - 1
    }

    fn data(&self, index: u32) -> MemberPage {
        assert!(index < self.width());
        self.pages[index as usize]
    }

    fn parity(&self) -> MemberPage {
        self.pages[self.strips - 1]
    }

    fn role(&self, member: MemberId) -> Option<Role> {
        let found = self.pages[..self.strips].iter().position(|page| page.member == member)?;
        Some(if found + 1 == self.strips { Role::Parity } else { Role::Data(found as u32) })
    }
}

/// Random requests under GC; a chip dies and is rebuilt on a spare one; in the end every page is what the host wrote, and survives any channel.
#[test]
fn stripes_by_a_table_lose_nothing() {
    let rules = [UpdateRule::Fewest, UpdateRule::Rmw, UpdateRule::Rcw];
    const OVER_TABLES: [&str; 8] = ["raid5", "fra", "fpc", "ppc", "ca-ppc", "cr5m", "adaptive", "bpu"];
    // no-pc is raid5.
    let of_any_layout = SCHEMES.iter().filter(|entry| entry.parameter(Layout::PARAMETER.name).is_some() && entry.name != "no-pc");
    let missing: Vec<_> = of_any_layout.map(|entry| entry.name).filter(|name| !OVER_TABLES.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} take any layout: add them to OVER_TABLES, and to what builds them here");
    let cases = (0..3).flat_map(|turn| OVER_TABLES.map(|scheme| (scheme, rules[turn])));
    for (seed, (scheme, rule)) in (0..).zip(cases) {
        let mut random = SplitMix64::new(seed);
        let mut pairs = vec![("spare_chips", "1"), ("blocks_per_plane", "16"), ("pages_per_block", "8"), ("over_provisioning", "0.5")];
        if scheme == "cr5m" {
            pairs.extend([("chips_per_channel", "2"), ("mirror_chips", "1")]);
        }
        if scheme == "fra" {
            pairs[3].1 = "0.35"; // GC takes bases
        }
        // A whole stripe leaves a buffer together, however wide it is.
        pairs.extend((seed % 2 == 1).then_some(("nvram_buffer_bytes", "65536")));
        pairs.extend((seed % 4 == 1).then_some(("nvram_victim", "largest_group")));
        let config = config("tiny", scheme, &pairs);
        let table = Table::new(config.device.pages_per_member(), &mut random);
        let widths: Vec<u32> = table.rows.iter().map(TableRow::width).collect();
        assert!(widths.contains(&2) && widths.contains(&3));
        let space = table.user_pages();
        let build = config.build();
        let built: Box<dyn Scheme> = match scheme {
            "raid5" => Box::new(Raid5::new(table, 4096, rule)),
            "adaptive" => raid5::over(table, &build, UpdateRule::adaptive(&build).unwrap()).unwrap(),
            "bpu" => raid5::over(table, &build, UpdateRule::bpu(&build).unwrap()).unwrap(),
            "fra" => Box::new(Fra::new(table, 4096)),
            "fpc" => fpc::over(table, &build).unwrap(),
            "ppc" => ppc::over(table, &build, Replacement::LRU).unwrap(),
            "ca-ppc" => ppc::over(table, &build, Replacement { alpha: 300, spares_recent: true, ..Replacement::LRU }).unwrap(),
            _ => cr5m::over(table, &build).unwrap(),
        };
        let mut engine = engine_with(&config, built, tags(&config));
        engine.fill(space / 2);
        for request in 0..1500 {
            submit_random(&mut engine, &mut random, space);
            if scheme == "fra" && request < 700 {
                assert_eq!(engine.survey().exposure.unwrap().pages, verify::stored(&engine).pages_lost, "seed {seed}, request {request}");
            }
            if request == 700 {
                engine.finish().unwrap();
                assert_eq!(engine.survey().exposure.map_or(0, |exposure| exposure.pages), 0, "seed {seed}");
                engine.fail(Fault::Loss(Part::Chip { channel: (random.next_u64() % 4) as u32, chip: 0 }));
            }
        }
        finish_clean(&mut engine, &format!("seed {seed}"));
    }
}
