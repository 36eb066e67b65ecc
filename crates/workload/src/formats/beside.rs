//! Recordings that lie in several files, told apart by a number in their names: blktrace leaves one for each CPU, fio one for each job.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How files may be packed; one that is not comes first.
const PACKINGS: [&str; 4] = ["", ".gz", ".zst", ".xz"];

/// More files than any recording has: the kernel knows at most 8,192 CPUs. A larger number counts something else.
const MOST: u32 = 8192;

/// Files that a sentence names.
const NAMED: usize = 3;

/// How a tool calls its files: `STEM` and `before`, the number, `behind`, and how the file is packed.
pub(super) struct Naming {
    pub before: &'static str,
    pub behind: &'static str,
    /// The number of the first file.
    pub first: u32,
    pub is_stem: fn(&str) -> bool,
}

/// A file's name.
#[derive(Clone, Copy)]
struct Name<'a> {
    stem: &'a str,
    number: u32,
    /// Its packing's place in the list.
    packing: usize,
}

impl Naming {
    fn split<'a>(&self, name: &'a str) -> Option<Name<'a>> {
        let packing = PACKINGS.iter().rposition(|packing| name.ends_with(packing))?;
        let (stem, number) = name.strip_suffix(PACKINGS[packing])?.strip_suffix(self.behind)?.rsplit_once(self.before)?;
        (self.is_stem)(stem).then_some(Name { stem, number: number.parse().ok()?, packing })
    }

    /// The number in a file's name.
    pub fn number_of(&self, path: &Path) -> Option<u32> {
        Some(self.split(path.file_name()?.to_str()?)?.number)
    }

    /// The other files of a recording of which one is given.
    pub fn beside(&self, path: &Path) -> Beside {
        let Some((given, own)) = path.file_name().and_then(|name| Some((name.to_str()?, self.split(name.to_str()?)?))) else {
            return Beside::default();
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let names = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // Of several files with a number the first is taken: that which is given, then one packed like it.
        let mut found = BTreeSet::from([(own.number, 0, own.packing, given.to_owned())]);
        found.extend(names.filter(|name| name != given).filter_map(|name| {
            let Name { stem, number, packing } = self.split(&name)?;
            (stem == own.stem).then(|| (number, 1 + u8::from(packing != own.packing), packing, name.clone()))
        }));
        let mut of_number: BTreeMap<u32, String> = BTreeMap::new();
        let mut doubles = Vec::new();
        for (number, _, _, name) in found {
            match of_number.get(&number) {
                Some(taken) => doubles.push((name, taken.clone())),
                None => {
                    of_number.insert(number, name);
                }
            }
        }
        let last = of_number.keys().next_back().copied().filter(|last| *last < MOST).unwrap_or_default();
        let absent = (self.first..last).filter(|number| !of_number.contains_key(number));
        let missing = absent.map(|number| format!("{}{}{number}{}{}", own.stem, self.before, self.behind, PACKINGS[own.packing])).collect();
        of_number.remove(&own.number);
        Beside { others: of_number.into_values().map(|name| path.with_file_name(name)).collect(), doubles, missing }
    }
}

/// What of a recording lies beside one of its files.
#[derive(Default)]
pub(super) struct Beside {
    /// The others, one for each number, in the order of numbers.
    pub others: Vec<PathBuf>,
    /// Files whose number another has that is among these, or is given; and that one.
    pub doubles: Vec<(String, String)>,
    /// What those are called that are not there, as numbers are left out.
    pub missing: Vec<String>,
}

impl Beside {
    /// That files are not there, in a sentence that ends with how to have them read.
    pub fn lacks(&self, path: &Path, remedy: &str) -> Option<String> {
        let (count, given) = (self.missing.len(), name_of(path));
        let (files, them) = if count == 1 { ("file of the recording is", "it has") } else { ("files of the recording are", "they have") };
        (count > 0)
            .then(|| format!("{count} {files} not beside {given} ({}), and what {them} is not replayed: {remedy}", some_of(&self.missing)))
    }
}

/// Some of these names, and how many more there are.
fn some_of(names: &[String]) -> String {
    let named = names[..names.len().min(NAMED)].join(", ");
    if names.len() > NAMED { format!("{named} and {} more", names.len() - NAMED) } else { named }
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Names with their verb.
pub(super) fn are(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().map(|path| name_of(path)).collect();
    match &names[..] {
        [one] => format!("{one} is"),
        [first, .., last] if names.len() > NAMED => format!("{first} to {last} ({} files) are", names.len()),
        _ => format!("{} are", names.join(", ")),
    }
}
