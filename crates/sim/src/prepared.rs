//! A device before its first request: built, filled and preconditioned, or as a run left it (`drive`). To prepare it can take much longer than a run, so that
//! many runs may begin with clones of one.

use crate::config::{Config, ConfigError, GcPhases, Precondition, Survival, share_of};
use crate::device::{self, Device};
use crate::drive::{Header, file};
use crate::engine::{AsOverwritten, Reached};
use crate::media::Inspect;
use crate::result::types::Drive;
use flashraid_redundancy::find;
use flashraid_vocabulary::wall::Stopwatch;
use flashraid_vocabulary::{SplitMix64, array};
use serde_json::Value as Json;

/// With more requests than one for so many pages of the logical space (measured on `ssd1`: for about 400), a copy of all maps takes less time than to copy
/// them piece by piece, and what lies on huge pages is faster to access.
const PAGES_PER_REQUEST: u64 = 512;

/// See the module.
#[derive(Clone)]
pub struct Prepared {
    pub(crate) config: Config,
    pub(crate) engine: Box<dyn Device>,
    /// What the scheme survives on this device while nothing has failed.
    pub(crate) survival: Survival,
    /// What building, fill and precondition took.
    pub(crate) fill_seconds: f64,
    pub(crate) filled_pages: u64,
    pub(crate) preconditioned: Option<Reached>,
    /// False if fill or precondition were stopped.
    pub(crate) is_complete: bool,
    /// The drive that it was, if it comes from a file.
    pub(crate) drive: Option<Drive>,
}

impl Prepared {
    /// A device as the configuration describes it, filled and preconditioned as it says, or the drive that it names. `go_on` is called now and then
    /// during long preparations with the pages written; returning false cuts the precondition short.
    ///
    /// Not generic, so that the engine is compiled in this crate and not again in those that call it.
    pub fn new(config: Config, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Self, ConfigError> {
        if !config.run.drive.is_empty() {
            return Self::load(config);
        }
        let mut engine = device::assemble(&config)?;
        let stopwatch = Stopwatch::start();
        let mut is_complete = true;
        let mut go_on = |pages| {
            is_complete = go_on(pages);
            is_complete
        };
        let survival = Survival::of(&config, engine.survey().scheme);
        let (filled_pages, preconditioned) = prepare(&mut *engine, &config, &mut go_on)?;
        refuse_worn_out(engine.survey().media)?;
        let fill_seconds = stopwatch.seconds();
        Ok(Self { config, engine, survival, fill_seconds, filled_pages, preconditioned, is_complete, drive: None })
    }

    /// The same, for many runs: copies of it share what none has written. No run begins with itself.
    pub fn to_share(config: Config, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Self, ConfigError> {
        array::shared(|| Self::new(config, go_on))
    }

    /// The drive that the configuration names.
    fn load(config: Config) -> Result<Self, ConfigError> {
        let stopwatch = Stopwatch::start();
        let mut engine = device::assemble(&config)?;
        let survival = Survival::of(&config, engine.survey().scheme);
        let (header, drive) = file::load(&config, &mut *engine)?;
        let Header { filled_pages, preconditioned, .. } = header;
        let fill_seconds = stopwatch.seconds();
        Ok(Self { config, engine, survival, fill_seconds, filled_pages, preconditioned, is_complete: true, drive: Some(drive) })
    }

    /// Whether fill and precondition came to their end.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// A clone of it for a run of this configuration, which must prepare a device in the same way, with at most so many requests.
    pub(crate) fn for_run_of(&self, config: Config, requests: Option<u64>) -> Result<Self, ConfigError> {
        let refuse = || ConfigError("the device was prepared in another way than this configuration says".into());
        if config.run.drive != self.config.run.drive || prepared_as(&config) != prepared_as(&self.config) {
            return Err(refuse());
        }
        let scheme = if config.scheme == self.config.scheme { None } else { Some(config.build_scheme()?) };
        let is_short = requests.is_some_and(|requests| requests <= self.engine.space_pages() / PAGES_PER_REQUEST);
        let copy = || self.engine.copy(scheme);
        let engine = if is_short { copy() } else { array::copied(copy) }.map_err(|_| refuse())?;
        Ok(Self { config, engine, survival: self.survival.clone(), drive: self.drive.clone(), ..*self })
    }
}

/// What of a configuration decides what a device is before its first request, as text; `None` if that is erased, so that to build it anew costs no more than a clone.
pub fn preparation(config: &Config) -> Option<String> {
    let run = &config.run;
    let is_erased = run.fill == 0.0 && run.fill_bytes == 0 && run.precondition == "none" && run.drive.is_empty();
    (!is_erased).then(|| format!("{} {}", run.drive, prepared_as(config)))
}

/// The part of a configuration that decides how a device is prepared. A fill alone is the same whatever a scheme will do with requests.
fn prepared_as(config: &Config) -> Json {
    let mut json = config.identity();
    if config.run.precondition == "none"
        && config.run.drive.is_empty()
        && let Some(parameters) = json["scheme"].as_object_mut()
        && let Some(entry) = find(&config.scheme.name)
    {
        entry.parameters().filter(|each| each.runtime).for_each(|each| _ = parameters.remove(each.name));
    }
    json
}

/// What is done before the first request may not wear out an SSD, which cannot fail before time begins.
fn refuse_worn_out(media: &dyn Inspect) -> Result<(), ConfigError> {
    match media.ssds().iter().position(|ssd| ssd.is_worn_out()) {
        None => Ok(()),
        Some(ssd) => Err(ConfigError(format!(
            "SSD {ssd} is worn out before the first request, by what fill and precondition erase: allowed is a larger pe_limit, a lower age, or a \
             shorter precondition"
        ))),
    }
}

/// Fills and preconditions. Returns the pages filled, and what the precondition reached.
pub fn prepare(
    engine: &mut dyn Device,
    config: &Config,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(u64, Option<Reached>), ConfigError> {
    let page = u64::from(config.device.unit_bytes());
    let space = engine.space_pages();
    let filled = match config.run.fill_bytes {
        0 => share_of(config.run.fill, space).0,
        bytes => bytes / page,
    };
    let precondition: Precondition = config.run.precondition.parse()?;
    // Only what is written can be overwritten: without a fill, all of the space.
    let filled = if filled == 0 && precondition != Precondition::None { space } else { filled };
    let filled = engine.survey().space.whole_rows(filled);
    let mut random = SplitMix64::new(config.run.seed);
    let mut random = || random.next_u64();
    let phases = config.run.gc_phases == GcPhases::Random;
    match precondition {
        Precondition::None => {
            engine.fill(filled, None);
            Ok((filled, None))
        }
        Precondition::Direct => {
            let reached = engine.fill(filled, Some(AsOverwritten { phases, random: &mut random }));
            let nothing_is_spare =
                || ConfigError("precondition = direct: allowed with more over_provisioning or less fill, as nothing is spare".into());
            Ok((filled, Some(reached.ok_or_else(nothing_is_spare)?)))
        }
        Precondition::Random { most_spaces, is_steady } => {
            engine.fill(filled, None);
            if !go_on(0) {
                return Ok((filled, None));
            }
            let most = (most_spaces * space as f64).ceil() as u64;
            Ok((filled, Some(engine.precondition(filled, most, phases && is_steady, &mut random, go_on))))
        }
    }
}
