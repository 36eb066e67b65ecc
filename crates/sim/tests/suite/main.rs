//! What the engine does, run by run. One program holds all of it, so that it is linked once and its tests share all cores.

mod aging;
mod array;
mod buffer;
mod buffer_nvram;
mod buffer_nvram_model;
mod clock;
mod config;
mod corpus;
mod decision_point;
mod destaging;
mod determinism;
mod documents;
mod drive_of_today;
mod drives;
mod effects;
mod failure;
mod fio;
mod gc_policies;
mod generated;
mod hdr_log;
mod host;
mod host_side;
mod hybrid;
mod idle;
mod lifetime;
mod links;
mod mirroring;
mod models;
#[cfg(feature = "mutants")]
mod mutants;
mod older;
mod orders;
mod outputs;
mod partial_writes;
mod properties;
#[cfg(feature = "mutants")]
mod read_errors;
mod rebuilds;
mod recompute;
mod results;
mod service;
mod shift;
mod slices;
mod steps;
mod stripe_map;
#[path = "../support/mod.rs"]
mod support;
mod suspension;
mod timing;
mod torture;
mod translation;
mod trouble;
mod units;
mod wear;
mod wear_out;
mod worked_example;
