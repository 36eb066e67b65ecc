//! Arrays whose SSDs differ (`models`).

use crate::support::{config, own_folder, pages};
use flashraid_sim::config::{Array, Device};
use flashraid_sim::{Config, Simulation};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};

type Pairs<'a> = &'a [(&'a str, &'a str)];

const SMALL: Pairs = &[
    ("devices", "4"),
    ("channels", "1"),
    ("blocks_per_plane", "24"),
    ("pages_per_block", "8"),
    ("over_provisioning", "0.3"),
    ("verify", "true"),
    ("fill", "0.9"),
];

fn small(scheme: &str, pairs: Pairs) -> Config {
    config("tiny", scheme, &[SMALL, pairs].concat())
}

fn refusal(pairs: Pairs) -> String {
    let pairs: Vec<_> = [SMALL, pairs].concat().iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Config::assemble(Some("tiny"), Some("raid5"), None, &pairs).unwrap_err().to_string()
}

/// Random requests on pages of these members of a raid0 or of all pages. Returns the simulation, and when each request was completed.
fn worked(config: Config, member: Option<u64>) -> (Simulation, Vec<(u64, u64)>) {
    let mut simulation = Simulation::new(config, |_| true).unwrap();
    let (mut random, space, mut arrival_ns) = (SplitMix64::new(8), simulation.space_bytes() / 4096, 0);
    for _ in 0..1200 {
        let op = [HostOp::Read, HostOp::Write, HostOp::Write][(random.next_u64() % 3) as usize];
        let page = match member {
            Some(member) => random.next_u64() % (space / 4) * 4 + member,
            None => random.next_u64() % space,
        };
        arrival_ns += random.next_u64() % 500_000;
        simulation.submit(&HostRequest { arrival_ns, ..pages(op, page, 1) }).unwrap();
    }
    simulation.finish().unwrap();
    let completed = simulation.take_completed();
    assert!(completed.iter().all(|completed| completed.ok));
    let found = simulation.verify().unwrap();
    assert!(found.is_clean() && found.pages_gone == 0, "{found:?}");
    (simulation, completed.iter().map(|completed| (completed.sequence, completed.completed_ns)).collect())
}

#[test]
fn an_ssd_works_as_its_model_says() {
    let fast: Pairs = &[("read_ns", "5us"), ("program_ns", "50us"), ("erase_ns", "300us"), ("gc_blocking_scope", "none")];
    let words: Vec<String> = fast.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let models = format!("2:{}", words.join(" "));
    let one_fast = || small("raid0", &[("models", &models)]);
    let (slow, mixed, all_fast) = (small("raid0", &[]), one_fast(), small("raid0", fast));
    for member in 0..4 {
        let (_, found) = worked(mixed.clone(), Some(member));
        let (_, expected) = worked(if member == 2 { all_fast.clone() } else { slow.clone() }, Some(member));
        assert_eq!(found, expected, "member {member}");
    }
    let (_, of_slow) = worked(slow, Some(2));
    assert!(of_slow != worked(one_fast(), Some(2)).1, "the model makes a difference");
}

#[test]
fn members_offer_what_the_smallest_does() {
    // The third SSD is smaller, the spare one smaller still.
    let mixed = small("raid5", &[("models", "2:blocks_per_plane=20,4:blocks_per_plane=16"), ("spare_devices", "1")]);
    let smallest = small("raid5", &[("blocks_per_plane", "16"), ("spare_devices", "1")]);
    let all = small("raid5", &[("spare_devices", "1")]);
    let space = |config: &Config| Simulation::new(config.clone(), |_| true).unwrap().space_bytes();
    assert_eq!(space(&mixed), space(&smallest));
    assert!(space(&all) > space(&mixed));
    // Of raw bytes each SSD has its own; the smallest one is a spare.
    let block_bytes = 2 * 8 * 4096;
    assert_eq!(mixed.derived().raw_bytes, (3 * 24 + 20) * block_bytes);
    assert_eq!(mixed.derived().spare_bytes, 16 * block_bytes);
    assert_eq!(mixed.derived().logical_pages, 4 * u64::from(smallest.derived().pages_per_member));
    let (simulation, _) = worked(mixed, None);
    let result = simulation.result(&Default::default(), false, None).unwrap();
    assert_eq!(result.capacity.raw_bytes, (3 * 24 + 20) * block_bytes);
}

#[test]
fn a_result_holds_the_models() {
    let folder = own_folder();
    // The small SSD in a file, with more channels and less time for reads.
    let tiny = Device::load("tiny").unwrap();
    let device = Device {
        name: "other, with = in its name".into(),
        channels: 2,
        read_ns: 7_000,
        blocks_per_plane: 24,
        pages_per_block: 8,
        over_provisioning: 0.3,
        ..tiny
    };
    let file = folder.join("other.toml");
    std::fs::write(&file, format!("[device]\n{}", toml::to_string(&device).unwrap())).unwrap();
    let models = format!("3:{} program_ns=90us,1:gc_threshold=0.2", file.display());
    let config = small("raid5", &[("models", &models)]);
    assert_eq!(config.array.models[0], "1:gc_threshold=0.2", "in the order of SSDs");
    assert_eq!(config.array.models[1], "3:name=other--with---in-its-name channels=2 read_ns=7000 program_ns=90000");
    std::fs::remove_file(&file).unwrap();

    let (simulation, completed) = worked(config.clone(), None);
    let result = simulation.result(&Default::default(), false, None).unwrap();
    let saved = folder.join("result.json");
    std::fs::write(&saved, serde_json::to_string(&result).unwrap()).unwrap();
    let again = Config::assemble(None, None, Some(&saved), &[]).unwrap();
    assert_eq!(again, config);
    assert_eq!(worked(again, None).1, completed);

    // A device file describes the whole array.
    std::fs::write(
        &file,
        format!("[device]\n{}\n[array]\ndevices = 3\nmodels = [\"0:tiny\", \"1:read_ns=1us\"]\n", toml::to_string(&device).unwrap()),
    )
    .unwrap();
    let array = Array::load(file.to_str().unwrap()).unwrap();
    assert!(
        array.models[0].starts_with("0:") && array.models[0].contains("channels=4") && array.models[1] == "1:read_ns=1000",
        "{:?}",
        array.models
    );
    // A file that names itself means its device.
    std::fs::write(
        &file,
        format!("[device]\n{}\n[array]\ndevices = 3\nmodels = [\"1:{}\"]\n", toml::to_string(&device).unwrap(), file.display()),
    )
    .unwrap();
    assert!(Array::load(file.to_str().unwrap()).unwrap().models.is_empty());
}

#[test]
fn models_that_cannot_be() {
    let allowed = "a comma-separated list of SSD:MODEL, as in 3:tiny or 3:read_ns=50us program_ns=1ms";
    for (models, expected) in [
        ("tiny", format!("models = tiny: allowed is {allowed}")),
        ("x:tiny", format!("models = x:tiny: x is no number of an SSD: allowed is {allowed}")),
        ("4:read_ns=1", "models = 4: the array has SSDs 0 to 3, the spare ones last".into()),
        ("1:read_ns=1,1:read_ns=2", "models = 1: given twice".into()),
        (
            "1:read_ns=0",
            "models = 1:read_ns=0: read_ns = 0: allowed is a whole number from 1 to 1000000000000, also with a unit as in 20us".into(),
        ),
        ("1:red_ns=5", "models = 1:red_ns=5: red_ns is no key of the table device".into()),
        ("1:read_ns=5 tiny", "models = 1:read_ns=5 tiny: tiny: allowed behind the first word is KEY=VALUE".into()),
        ("1:buffer_bytes=1MiB", "models = 1:buffer_bytes=1MiB: buffer_bytes is a setting of the whole array, not of one SSD".into()),
        ("1:page_bytes=8KiB", "models = 1:page_bytes=8KiB: page_bytes = 8192: allowed is 4096, as in the other SSDs".into()),
        ("1:sirf-1c64-2k", "models = 1:sirf-1c64-2k: page_bytes = 2048: allowed is 4096, as in the other SSDs".into()),
        ("1:mapping=dftl", "models = 1:mapping=dftl: mapping = dftl: allowed is page, as in the other SSDs".into()),
        ("1:gc_idle_threshold=0.05", "models: SSD 1: gc_idle_threshold = 0.05: allowed is 0 or above gc_threshold = 0.1".into()),
    ] {
        assert_eq!(refusal(&[("models", models)]), expected);
    }
    assert!(refusal(&[("models", "1:tinny")]).starts_with("models = 1:tinny: unknown device tinny; "));
    assert!(refusal(&[("models", "1:over_provisioning=0")]).starts_with("models: SSD 1: over_provisioning = 0: "));
}

#[test]
fn failures_of_ssds_that_differ_lose_nothing() {
    let models = "0:channels=2 dies_per_chip=2,2:read_ns=90us lun=chip planes_per_die=1 blocks_per_plane=60,4:program_ns=20us gc_blocking_scope=none";
    let ppc: Pairs = &[("nvram_buffer_bytes", "65536"), ("parity_cache_bytes", "65536")];
    for (scheme, own) in [("raid1", &[][..]), ("raid5", &[]), ("ppc", ppc)] {
        for fail in ["device:2@request:300", "device:0@request:200,device:4@request:900", "device:0/chip:1.0@request:300"] {
            let pairs = [own, &[("models", models), ("fail", fail), ("spare_devices", "2"), ("link_ps_per_byte", "2000")]].concat();
            let config = small(scheme, &pairs);
            let (_, completed) = worked(config.clone(), None);
            assert!(worked(config, None).1 == completed, "{scheme} {fail}: twice the same");
        }
    }
}
