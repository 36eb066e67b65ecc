//! Results and drives of older versions. Their configuration is complete, so a setting that it lacks is newer than they are, and means what their
//! version did without it: that is the setting's default, unless the setting says otherwise (`before`). What comes in is completed here, once, so
//! that nothing behind it can tell it from what is written today.

use super::key::Given;
use super::setting::{Setting, SettingSource, last};
use super::{SchemeChoice, find_scheme, keys};
use flashraid_redundancy::Before;

/// Adds what the version that has written these settings did, for each setting that they lack and whose default that is not. Without a version they
/// are taken for older than any.
pub(super) fn complete(settings: &mut Vec<Setting>, version: Option<&str>) {
    let version = version.map_or([0; 3], number);
    let scheme = last(settings, SchemeChoice::TABLE.name, "name").and_then(|setting| find_scheme(&setting.given.text).ok());
    let parameters = scheme.into_iter().flat_map(|entry| entry.parameters());
    let all = keys().map(|key| (key.table, key.name, key.before));
    let all = all.chain(parameters.map(|parameter| (SchemeChoice::TABLE.name, parameter.name, parameter.before)));
    for (table, key, before) in all.filter(|(.., before)| !before.is_empty()) {
        if last(settings, table, key).is_none()
            && let Some(value) = meant(before, version)
        {
            settings.push(Setting {
                table: table.into(),
                key: key.into(),
                key_place: String::new(),
                given: Given::bare(value),
                place: String::new(),
                source: SettingSource::Background,
            });
        }
    }
}

/// What a version did that has no such setting; `None` for the default.
fn meant(before: &[Before], version: [u64; 3]) -> Option<&'static str> {
    before.iter().find(|before| version < number(before.version)).map(|before| before.value)
}

/// The numbers of a version; what stands behind them is of no weight, as in `0.2.0-rc1`.
fn number(version: &str) -> [u64; 3] {
    let mut numbers = version.split('.').map(|part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part[..digits].parse().unwrap_or(0)
    });
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashraid_redundancy::SCHEMES;

    #[test]
    fn a_version_means_what_was_so_before_the_next_change() {
        let before = [Before { version: "0.2.0", value: "a" }, Before { version: "0.10.0", value: "b" }];
        let of = |version: &str| meant(&before, number(version));
        assert_eq!(["0.1.0", "0.1.9", "", "unknown"].map(of), [Some("a"); 4]);
        assert_eq!(["0.2.0", "0.2.0-rc1", "0.9.12", "0.2"].map(of), [Some("b"); 4]);
        assert_eq!(["0.10.0", "0.10.1", "1.0.0"].map(of), [None; 3]);
        assert_eq!(meant(&[], number("0.1.0")), None);
    }

    #[test]
    fn what_older_versions_meant_is_allowed_and_the_last_of_it_is_not_the_default() {
        let check = |name: &str, before: &[Before], default: &str, allows: &dyn Fn(&str) -> bool| {
            assert!(before.windows(2).all(|pair| number(pair[0].version) < number(pair[1].version)), "{name}: the oldest comes first");
            assert!(before.iter().all(|before| allows(before.value)), "{name}: {before:?}");
            assert!(before.last().is_none_or(|before| before.value != default), "{name}: {default} needs no word");
        };
        for key in keys() {
            check(key.name, key.before, key.default.unwrap_or_default(), &|value| key.read(&Given::bare(value)).is_some());
        }
        for parameter in SCHEMES.iter().flat_map(|entry| entry.parameters()) {
            check(parameter.name, parameter.before, &parameter.values.default_text(), &|value| parameter.values.allows(value));
        }
    }
}
