//! One row for each page operation, and each erase.

use super::sink::{Sink, push_number};
use crate::engine::recorder::DoneRecord;
use crate::error::RunError;
use crate::media::Inspect;
use flashraid_vocabulary::{Part, Version};
use std::path::Path;

const HEADER: &str = "action,cause,kind,request,member,page,version,device,channel,chip,die,plane,block,block_page,bytes,submitted_ns,start_ns,end_ns,failed\n";

pub(super) struct OperationLog(Sink);

impl OperationLog {
    pub(super) fn create(path: &Path) -> Result<Self, RunError> {
        let mut sink = Sink::create("operation_log", path)?;
        sink.text.extend_from_slice(HEADER.as_bytes());
        Ok(Self(sink))
    }

    pub(super) fn add(&mut self, DoneRecord { done, kind, request }: &DoneRecord, media: &dyn Inspect) -> Result<(), RunError> {
        let text = &mut self.0.text;
        for word in [done.activity.name(), done.cause.name(), kind] {
            text.extend_from_slice(word.as_bytes());
            text.push(b',');
        }
        let push = |text: &mut Vec<u8>, number: Option<u64>| {
            number.into_iter().for_each(|number| push_number(text, number));
            text.push(b',');
        };
        push(text, *request);
        push(text, done.member.map(u64::from));
        push(text, done.page.map(|(page, _)| u64::from(page.page.0)));
        text.extend_from_slice(done.page.map_or("", |(_, version)| version_name(version)).as_bytes());
        text.push(b',');
        let Part::Page { channel, chip, die, plane, block, page } = media.part_of(done.ppn) else { unreachable!("a page is a page") };
        let device = media.place_of(done.ppn).ssd as u32;
        [device, channel, chip, die, plane, block, page, done.bytes].iter().for_each(|number| push(text, Some(u64::from(*number))));
        [done.submitted_ns, done.start_ns, done.end_ns].iter().for_each(|time_ns| push(text, Some(*time_ns)));
        text.extend_from_slice(if done.failed { b"true\n" } else { b"false\n" });
        self.0.spill()
    }

    pub(super) fn finish(&mut self) -> Result<(), RunError> {
        self.0.flush()
    }
}

fn version_name(version: Version) -> &'static str {
    match version {
        Version::Current => "current",
        Version::Base => "base",
        Version::Copy => "copy",
        Version::DeferredParity => "delayed",
    }
}
