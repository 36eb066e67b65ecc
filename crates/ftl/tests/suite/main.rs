//! One SSD without an engine. One program holds all of it, so that it is linked once and its tests share all cores.

mod faults;
mod filling;
mod gc;
mod hybrid;
mod idle;
mod levels;
mod memory;
mod pace;
mod parts;
mod slc;
mod streams;
mod support;
mod victims;
mod wear;
