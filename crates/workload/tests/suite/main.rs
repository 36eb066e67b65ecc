//! Traces, profiles and conversions. One program holds all of it, so that it is linked once and its tests share all cores.

mod anonymise;
mod content;
mod convert;
mod corpus;
mod fit;
mod formats;
mod formats_binary;
mod formats_blktrace;
mod formats_columns;
mod formats_events;
mod formats_tools;
mod given_columns;
mod info;
mod info_properties;
mod lacks;
mod order;
mod profile_laws;
mod profile_trace;
mod profiles;
mod requeues;
mod shared_traces;
mod spelling;
mod support;
mod synth;
mod writers;
