//! Each rule of the schemes on `decide` and `step`, without an engine: `flash` executes operations one after the other on pages
//! that hold 64-bit tags, `host` puts a scheme on it and compares with a plain array.

mod adaptive;
mod chained;
mod content;
mod counts;
mod cr5m;
mod cr5m_failure;
mod cr5m_pressure;
mod deferred;
mod deferred_commits;
mod deferred_failure;
mod deferred_places;
mod deferred_random;
mod degraded;
mod degraded_all;
mod flash;
mod fra;
mod host;
mod matrix;
mod mirrors;
mod raid6;
mod registry;
mod replacing;
mod replacing_deaths;
mod replacing_manager;
mod replacing_random;
mod replacing_shadow;
mod replacing_shares;
mod sirf1;
mod stripes;
mod test_only;
mod waves;
