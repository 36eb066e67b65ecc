//! One row for each measured request.

use super::sink::{Sink, push_number};
use crate::engine::recorder::RequestRecord;
use crate::error::RunError;
use flashraid_redundancy::Failure;
use std::path::Path;

const HEADER: &str = "request,op,offset_bytes,size_bytes,arrival_ns,start_ns,end_ns,latency_ns,stripe,method,failed,failure\n";

pub(super) struct LatencyLog(Sink);

impl LatencyLog {
    pub(super) fn create(path: &Path) -> Result<Self, RunError> {
        let mut sink = Sink::create("latency_log", path)?;
        sink.text.extend_from_slice(HEADER.as_bytes());
        Ok(Self(sink))
    }

    pub(super) fn add(&mut self, request: &RequestRecord) -> Result<(), RunError> {
        let text = &mut self.0.text;
        push_number(text, request.sequence);
        text.push(b',');
        text.extend_from_slice(request.op.name().as_bytes());
        let RequestRecord { offset_bytes, size_bytes, arrival_ns, start_ns, end_ns, .. } = *request;
        for number in [offset_bytes, size_bytes, arrival_ns, start_ns, end_ns, end_ns - arrival_ns] {
            text.push(b',');
            push_number(text, number);
        }
        text.push(b',');
        if let Some(stripe) = request.stripe {
            push_number(text, u64::from(stripe));
        }
        text.push(b',');
        text.extend_from_slice(request.methods.name().as_bytes());
        text.extend_from_slice(match request.failed {
            None => b",false,\n",
            Some(Failure::NoSpace) => b",true,no_space\n",
            Some(Failure::Lost) => b",true,lost\n",
            Some(Failure::Refused) => b",true,refused\n",
        });
        self.0.spill()
    }

    pub(super) fn finish(&mut self) -> Result<(), RunError> {
        self.0.flush()
    }
}
