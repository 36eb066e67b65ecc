//! A simulation switches its drive off, and saves it.

use super::file;
use super::header::{Header, format_of};
use crate::engine::Halted;
use crate::error::RunError;
use crate::prepared::Prepared;
use crate::simulation::Simulation;
use flashraid_vocabulary::{Action, Cause};
use std::path::Path;

/// The output that messages name.
const OPTION: &str = "save_drive";

impl Prepared {
    /// Saves the device as a drive.
    pub fn save(&self, path: &Path) -> Result<(), RunError> {
        Simulation::of(self.clone(), None)?.save_drive(path)
    }
}

impl Simulation {
    /// Saves the drive as it would be if it were switched off now, in order: what a data buffer holds, and deferred parities, are written to flash. The
    /// simulation stays as it is. Refused is a drive with work in flight, or one of which something has failed that a file does not tell.
    pub fn save_drive(&self, path: &Path) -> Result<(), RunError> {
        let refuse = |why| RunError::Request(format!("{OPTION}: {why}: nothing was saved"));
        if let Some(why) = self.cannot_be_saved() {
            return Err(refuse(why));
        }
        let header = self.header();
        let mut switched_off = self.clone();
        switched_off.switch_off()?;
        if let Some(why) = switched_off.cannot_be_saved() {
            return Err(refuse(why));
        }
        switched_off.write_drive(path, &header)
    }

    /// The same at the end of a run, after which nobody needs the simulation. Returns why nothing was saved, if that is so.
    pub(crate) fn save_drive_at_end(&mut self, path: &Path) -> Result<Option<&'static str>, RunError> {
        let header = self.header();
        if self.cannot_be_saved().is_none() {
            self.switch_off()?;
        }
        match self.cannot_be_saved() {
            Some(why) => Ok(Some(why)),
            None => self.write_drive(path, &header).map(|()| None),
        }
    }

    fn write_drive(&self, path: &Path, header: &Header) -> Result<(), RunError> {
        file::write(path, header, &*self.device.engine).map_err(|source| RunError::Output { option: OPTION, source })
    }

    fn cannot_be_saved(&self) -> Option<&'static str> {
        if !self.device.is_complete {
            return Some("the precondition was stopped");
        }
        self.device.engine.cannot_be_saved()
    }

    /// Writes to flash what does not stay in the controller when the drive is switched off in order: what a data buffer holds, deferred parities, and units that
    /// wait for their flash page.
    pub fn switch_off(&mut self) -> Result<(), Halted> {
        let engine = &mut *self.device.engine;
        if engine.survey().buffer.is_some_and(|buffer| buffer.count() > 0) {
            engine.drain_buffer()?;
        }
        engine.drain_scheme();
        engine.finish_gc();
        // A drive at rest may wait for idle time: to that it does not come.
        if engine.cannot_be_saved().is_some() {
            engine.finish()?;
        }
        if engine.cannot_be_saved().is_none() {
            engine.empty_memory();
        }
        Ok(())
    }

    /// What the drive has been through up to now.
    fn header(&self) -> Header {
        let before = self.device.drive.as_ref();
        let survey = self.survey();
        let (requests, now_ns) = (survey.submitted, survey.now_ns());
        let programs = survey.media.counts()[Action::Program as usize][Cause::Host as usize];
        Header {
            flashraid_drive: format_of(&self.device.config.scheme.name),
            version: env!("CARGO_PKG_VERSION").into(),
            filled_pages: self.device.filled_pages,
            preconditioned: self.device.preconditioned,
            runs: before.map_or(0, |drive| drive.runs) + u64::from(requests > 0),
            requests: before.map_or(0, |drive| drive.requests) + requests,
            programmed_bytes: before.map_or(0, |drive| drive.programmed_bytes)
                + programs * u64::from(self.device.config.device.unit_bytes()),
            simulated_ns: before.map_or(0, |drive| drive.simulated_ns).saturating_add(now_ns),
            config: self.device.config.identity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Engine;
    use crate::engine::tags::Tags;
    use crate::{Config, Simulation};
    use flashraid_vocabulary::{HostOp, HostRequest, Lpn, Version};
    use std::any::Any;
    use std::path::Path;

    /// A simulation that verifies.
    fn simulation(drive: Option<&Path>) -> Simulation {
        let pairs = match drive {
            None => vec![("verify".into(), "true".into()), ("fill".into(), "0.5".into())],
            Some(drive) => vec![("drive".into(), drive.display().to_string())],
        };
        let config = Config::assemble(Some("tiny"), Some("raid5"), None, &pairs).expect("legal settings");
        Simulation::new(config, |_| true).expect("a device")
    }

    fn engine_of(simulation: &mut Simulation) -> &mut Engine<Tags> {
        (&mut *simulation.device.engine as &mut dyn Any).downcast_mut().expect("it verifies")
    }

    fn saved_and_loaded(saved: &Simulation) -> Simulation {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("drive");
        saved.save_drive(&path).expect("nothing is in flight");
        simulation(Some(&path))
    }

    fn write_page(simulation: &mut Simulation) -> u64 {
        let page = HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes: 4096, op: HostOp::Write, stream: 0, source: 0 };
        let number = simulation.submit(&page).expect("it fits");
        simulation.finish().expect("it ends");
        let engine = engine_of(simulation);
        assert_eq!(number, 0, "each simulation counts from 0");
        engine.executor.content.newest(Lpn(0))
    }

    /// Else what a page held long ago could pass for what it was written last.
    #[test]
    fn no_two_writes_in_the_life_of_a_drive_are_the_same() {
        let mut first = simulation(None);
        let before = write_page(&mut first);
        let mut second = saved_and_loaded(&first);
        let after = write_page(&mut second);
        assert_ne!(before, after);
        assert_ne!(write_page(&mut saved_and_loaded(&second)), after);
    }

    #[test]
    fn a_page_that_is_damaged_in_a_drive_is_found() {
        let mut first = simulation(None);
        write_page(&mut first);
        let mut loaded = saved_and_loaded(&first);
        assert!(loaded.verify().is_some_and(|found| found.is_clean()));
        let engine = engine_of(&mut loaded);
        let ppn =
            crate::media::Serving::lookup(&engine.executor.media, engine.scheme().locate(Lpn(0)), Version::Current).expect("it is written");
        engine.executor.content.destroy(ppn);
        let mut damaged = saved_and_loaded(&loaded);
        assert!(damaged.verify().is_some_and(|found| found.mismatches > 0));
    }
}
