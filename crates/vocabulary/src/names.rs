//! The name that somebody may have meant who gave one that does not exist, for messages.

/// What the field also calls things, folded (lower case, letters and digits alone), and their names here. Of several the first one that can be meant
/// where the word was given counts: `iops` is a figure of a result, an objective of the advisor and a column of a frame.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Schemes.
    ("jbod", &["raid0"]),
    ("stripe", &["raid0"]),
    ("striping", &["raid0"]),
    ("none", &["raid0"]),
    ("mirror", &["raid1"]),
    ("mirroring", &["raid1"]),
    ("mirrored", &["raid1"]),
    ("raid01", &["raid1"]),
    ("raid1e", &["raid10"]),
    ("raid3", &["raid4"]),
    ("parity", &["raid5"]),
    ("raid50", &["raid5"]),
    ("raid60", &["raid6"]),
    ("raidz", &["raid5"]),
    ("raidz1", &["raid5"]),
    ("raidz2", &["raid6"]),
    ("rain", &["raid5"]),
    ("rdp", &["raid6"]),
    ("evenodd", &["raid6"]),
    ("reedsolomon", &["raid6"]),
    ("diffraid", &["diff-raid"]),
    ("partialparity", &["ppc"]),
    ("paritylogging", &["ppc", "fpc"]),
    ("delayedparity", &["fra"]),
    ("deferredparity", &["fra"]),
    // Parts of a device.
    ("drive", &["device", "devices"]),
    ("disk", &["device", "devices"]),
    ("ssd", &["device", "devices"]),
    ("disks", &["devices"]),
    ("drives", &["devices"]),
    ("ssds", &["devices"]),
    ("spare", &["spare_devices", "spare_chips"]),
    ("spares", &["spare_devices", "spare_chips"]),
    ("hotspare", &["spare_devices", "spare_chips", "spare"]),
    ("hotspares", &["spare_devices", "spare_chips", "spare"]),
    ("package", &["chip", "chips_per_channel"]),
    ("way", &["chip", "chips_per_channel"]),
    ("ways", &["chips_per_channel"]),
    ("ce", &["chip", "chips_per_channel"]),
    ("bus", &["channel", "channels"]),
    ("ch", &["channel", "channels"]),
    ("lun", &["die", "dies_per_chip"]),
    ("luns", &["dies_per_chip"]),
    ("lba", &["page"]),
    ("sector", &["page"]),
    ("nvram", &["parity-cache", "nvram_buffer_bytes", "nvram"]),
    // Settings.
    ("qd", &["queue_depth"]),
    ("iodepth", &["queue_depth"]),
    ("queuelength", &["device_queue_depth", "queue_depth"]),
    ("ncq", &["device_queue_depth"]),
    ("depth", &["queue_depth"]),
    ("numjobs", &["queue_depth"]),
    ("blocksize", &["pages_per_block"]),
    ("chunk", &["strip"]),
    ("chunksize", &["strip"]),
    ("stripeunit", &["strip"]),
    ("stripesize", &["stripe"]),
    ("slc", &["upper_program_ns", "page type"]),
    ("mlc", &["upper_program_ns", "page type"]),
    ("tlc", &["upper_program_ns", "page type"]),
    ("qlc", &["upper_program_ns", "page type"]),
    ("ecc", &["ldpc", "ldpc_levels"]),
    ("rber", &["ldpc", "ldpc_levels"]),
    ("ber", &["ldpc", "ldpc_levels"]),
    ("wl", &["wear_leveling", "wear_leveling_threshold"]),
    ("discard", &["trims", "trim_requests", "trim"]),
    ("discards", &["trims", "trim_requests", "trim"]),
    ("unmap", &["trims", "trim_requests", "trim"]),
    ("pagesize", &["page_bytes"]),
    ("op", &["over_provisioning", "op"]),
    ("overprovision", &["over_provisioning"]),
    ("utilization", &["fill", "busy_fraction"]),
    ("utilisation", &["fill", "busy_fraction"]),
    ("util", &["busy_fraction"]),
    ("tr", &["read_ns"]),
    ("tprog", &["program_ns"]),
    ("tbers", &["erase_ns"]),
    ("tread", &["read_ns"]),
    ("terase", &["erase_ns"]),
    ("pe", &["pe_limit", "pe_cycles"]),
    ("pecycles", &["pe_limit", "pe_cycles"]),
    ("endurance", &["lifetime", "pe_limit", "pe_cycles", "full_drive_writes"]),
    ("lifespan", &["lifetime", "years", "endurance"]),
    ("life", &["lifetime", "years", "endurance"]),
    ("ftl", &["mapping", "ftl"]),
    ("cache", &["buffer_bytes"]),
    ("writecache", &["buffer_bytes"]),
    ("writebuffer", &["buffer_bytes"]),
    ("writeback", &["buffer_bytes"]),
    ("dram", &["buffer_bytes", "dram"]),
    // Figures.
    ("wa", &["write_amplification", "write-amplification", "endurance"]),
    ("waf", &["write_amplification", "write-amplification", "endurance"]),
    ("writeamp", &["write_amplification", "write-amplification", "endurance"]),
    ("dwpd", &["full_drive_writes", "lifetime", "endurance"]),
    ("drivewritesperday", &["full_drive_writes", "lifetime", "endurance"]),
    ("tbw", &["full_drive_writes", "lifetime", "bytes_written", "endurance"]),
    ("terabyteswritten", &["full_drive_writes", "lifetime", "bytes_written", "endurance"]),
    ("mttdl", &["window_of_vulnerability_ns", "exposure window", "survives"]),
    ("meantimetodataloss", &["window_of_vulnerability_ns", "exposure window", "survives"]),
    ("durability", &["window_of_vulnerability_ns", "exposure window", "survives"]),
    ("reliability", &["window_of_vulnerability_ns", "exposure window", "survives"]),
    ("mttr", &["window_of_vulnerability_ns"]),
    ("mttf", &["failure"]),
    ("mtbf", &["failure"]),
    ("afr", &["failure"]),
    ("uber", &["pages_uncorrectable", "ldpc"]),
    ("iops", &["requests_per_second", "throughput", "bandwidth"]),
    ("kiops", &["requests_per_second", "throughput", "bandwidth"]),
    ("qps", &["requests_per_second", "throughput", "bandwidth"]),
    ("tps", &["requests_per_second", "throughput", "bandwidth"]),
    ("throughput", &["throughput", "requests_per_second", "bandwidth"]),
    ("bandwidth", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("bw", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("mbps", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("mibps", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("mbs", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("mibs", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("gbps", &["bandwidth", "throughput", "write_bytes_per_second"]),
    ("lat", &["latency_ns", "latency", "write_tail"]),
    ("latency", &["latency_ns", "latency", "read-latency", "write_tail"]),
    ("latencies", &["latency_ns", "latency", "read-latency", "write_tail"]),
    ("clat", &["latency_ns", "latency", "write_tail"]),
    ("responsetime", &["latency_ns", "latency", "write_tail"]),
    ("tail", &["write_tail", "p99"]),
    ("avg", &["mean"]),
    ("average", &["mean"]),
    ("median", &["p50"]),
    ("std", &["stddev"]),
    ("stdev", &["stddev"]),
    ("p999", &["p99_9", "p99_9_ns"]),
    ("p9999", &["p99_99", "p99_99_ns"]),
];

/// `; the nearest is NAME`, of the names that may have been meant; empty if none is near.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    near(given, names).map_or_else(String::new, |name| format!("; the nearest is {name}"))
}

/// What flashraid calls something by the word that the field has for it, whether or not that can be meant where the word was given.
pub fn called(given: &str) -> Option<&'static str> {
    let word = folded(given);
    SYNONYMS.iter().find(|(synonym, _)| *synonym == word).and_then(|(_, names)| names.first().copied())
}

/// The name that may have been meant.
pub fn near<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    meant(given, names).first().copied()
}

/// The names that may have been meant, the likeliest first: written in another way (`RAID-5`), what the field calls them (`waf`), or else those in
/// which, or in whose beginning, at most a third of the letters are wrong (half, if they are two at most and the first is right), or that contain what
/// was given or are contained in it.
pub fn meant<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    let word = folded(given);
    if let Some(same) = names.iter().find(|name| !word.is_empty() && folded(name) == word) {
        return vec![same];
    }
    let others = SYNONYMS.iter().find(|(synonym, _)| *synonym == word).map_or(&[][..], |(_, others)| others);
    let known: Vec<&str> = others.iter().filter_map(|other| names.iter().copied().find(|name| name == other)).collect();
    if !known.is_empty() {
        return known;
    }
    let given = given.to_lowercase();
    let wrong = |name: &str| wrong_letters(&given, &name.to_lowercase());
    let mut near: Vec<(usize, &str)> = names.into_iter().filter_map(|name| wrong(name).map(|wrong| (wrong, name))).collect();
    near.sort_by_key(|(wrong, _)| *wrong);
    near.dedup_by_key(|(_, name)| *name);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many letters are wrong; `None` if the name is not near.
fn wrong_letters(given: &str, name: &str) -> Option<usize> {
    let (wrong, letters) = (strsim::damerau_levenshtein(given, name), name.chars().count().max(given.chars().count()));
    let length = given.chars().count();
    let start: String = name.chars().take(length).collect();
    let is_start = length >= 4 && 3 * strsim::damerau_levenshtein(given, &start) <= length;
    let is_part = given.len().min(name.len()) >= 4 && (name.contains(given) || given.contains(name));
    let has_slip = name.chars().next() == given.chars().next() && wrong <= 2 && 2 * wrong <= letters;
    (is_part || is_start || has_slip || 3 * wrong <= letters).then_some(wrong)
}

/// A name as its other spellings: `RAID-5`, `raid_5`, `raid5`.
fn folded(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{SYNONYMS, called, folded, meant, near, nearest};

    const SCHEMES: [&str; 7] = ["raid0", "raid1", "raid4", "raid5", "raid6", "diff-raid", "fra"];
    const PARTS: [&str; 7] = ["member", "channel", "chip", "die", "plane", "device", "parity-cache"];
    const FIGURES: [&str; 6] = ["write_amplification", "requests_per_second", "latency_ns", "p99_9", "full_drive_writes", "mean"];

    #[test]
    fn what_the_field_says_leads_to_what_is_meant() {
        for (names, given, expected) in [
            (&SCHEMES[..], "RAID5", "raid5"),
            (&SCHEMES, "raid-5", "raid5"),
            (&SCHEMES, "Raid 1", "raid1"),
            (&SCHEMES, "raidz2", "raid6"),
            (&SCHEMES, "raid50", "raid5"),
            (&SCHEMES, "raid01", "raid1"),
            (&SCHEMES, "jbod", "raid0"),
            (&SCHEMES, "mirror", "raid1"),
            (&SCHEMES, "DiffRAID", "diff-raid"),
            (&PARTS, "drive", "device"),
            (&PARTS, "ssd", "device"),
            (&PARTS, "Disk", "device"),
            (&PARTS, "package", "chip"),
            (&PARTS, "Die", "die"),
            (&PARTS, "chip0", "chip"),
            (&PARTS, "nvram", "parity-cache"),
            (&FIGURES, "waf", "write_amplification"),
            (&FIGURES, "WA", "write_amplification"),
            (&FIGURES, "iops", "requests_per_second"),
            (&FIGURES, "dwpd", "full_drive_writes"),
            (&FIGURES, "tbw", "full_drive_writes"),
            (&FIGURES, "lat", "latency_ns"),
            (&FIGURES, "p999", "p99_9"),
            (&FIGURES, "p99.9", "p99_9"),
            (&FIGURES, "avg", "mean"),
        ] {
            assert_eq!(near(given, names.iter().copied()), Some(expected), "{given}");
        }
    }

    #[test]
    fn what_the_field_says_has_a_name_here_in_any_case_and_also_where_it_cannot_be_meant() {
        for (given, expected) in [
            ("waf", "write_amplification"),
            ("WAF", "write_amplification"),
            ("Mttdl", "window_of_vulnerability_ns"),
            ("MTBF", "failure"),
            ("T-B-W", "full_drive_writes"),
            ("iops", "requests_per_second"),
            ("RAIDZ2", "raid6"),
        ] {
            assert_eq!((called(given), near(given, ["queue_depth"])), (Some(expected), None), "{given}");
        }
        assert_eq!((called("gc_threshold"), called(""), called("xyzzy")), (None, None, None));
        assert_eq!(meant("MTTDL", ["survives", "exposure window", "mean"]), ["exposure window", "survives"]);
        for figure in ["waf", "tbw", "DWPD"] {
            assert_eq!(near(figure, ["latency", "throughput", "endurance"]), Some("endurance"), "{figure}");
        }
    }

    #[test]
    fn what_is_misspelt_leads_to_what_differs_least_and_nothing_to_what_is_far_away() {
        assert_eq!(nearest("membre", PARTS), "; the nearest is member");
        assert_eq!(nearest("requets_per", FIGURES), "; the nearest is requests_per_second");
        assert_eq!(nearest("SSD2", ["SSD1"]), "; the nearest is SSD1");
        assert_eq!(nearest("xyzzy", PARTS), "");
        assert_eq!(nearest("", PARTS), "");
        assert_eq!(meant("raid", SCHEMES), ["raid0", "raid1", "raid4", "raid5", "raid6", "diff-raid"]);
    }

    #[test]
    fn synonyms_are_folded_and_each_stands_once() {
        for (index, (word, names)) in SYNONYMS.iter().enumerate() {
            assert_eq!(folded(word), *word);
            assert!(!names.is_empty());
            assert!(!SYNONYMS[..index].iter().any(|(other, _)| other == word), "{word}");
        }
    }
}
