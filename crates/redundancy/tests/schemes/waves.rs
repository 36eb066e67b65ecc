//! Waves in words, so that a test reads like the rule that it checks.

use crate::flash::Course;
use flashraid_vocabulary::{Action, PageOperation, Priority, Version};

/// `read|program CAUSE MEMBER/PAGE BYTES [base|copy] [keeps base]`, then what the read delivers or what the program is made of.
fn words(operation: &PageOperation) -> String {
    let PageOperation { cause, address, bytes, .. } = operation;
    let version = match operation.version {
        Version::Current => "",
        Version::Base => " base",
        Version::Copy => " copy",
        Version::DeferredParity => unreachable!("{operation:?}"),
    };
    let keeps = if operation.keep_base { " keeps base" } else { "" };
    let place = format!("{} {}/{} {bytes}{version}{keeps}", cause.name(), address.member.0, address.page.0);
    match operation.action {
        Action::Read if operation.strip == PageOperation::NO_STRIP => format!("read {place}"),
        Action::Read => format!("read {place} for strip {}", operation.strip),
        Action::Program => {
            let bits = |mask: u64| (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect::<String>();
            let sources = [("host", operation.sources.host), ("reads", operation.sources.reads)];
            let named = sources.into_iter().filter(|(_, mask)| *mask != 0).map(|(name, mask)| format!("{name} {}", bits(mask)));
            let deferred = operation.sources.deferred.then(|| "delayed".to_string());
            format!("program {place} = {}", deferred.into_iter().chain(named).collect::<Vec<_>>().join(" ^ "))
        }
    }
}

/// The waves of one operation of a healthy host request.
pub fn waves(course: &Course) -> Vec<Vec<String>> {
    assert!(course.waves.iter().flatten().all(|operation| operation.host_waits));
    all_waves(course)
}

/// The waves of one operation that moves strips in idle time.
pub fn migration_waves(course: &Course) -> Vec<Vec<String>> {
    let is_low = |operation: &PageOperation| operation.priority == Priority::Migration && !operation.host_waits;
    assert!(course.waves.iter().flatten().all(is_low));
    in_words(course)
}

/// The waves of one operation for which no host waits.
pub fn background_waves(course: &Course) -> Vec<Vec<String>> {
    assert!(course.waves.iter().flatten().all(|operation| !operation.host_waits));
    all_waves(course)
}

fn all_waves(course: &Course) -> Vec<Vec<String>> {
    assert!(course.waves.iter().flatten().all(|operation| operation.priority == Priority::Host));
    in_words(course)
}

fn in_words(course: &Course) -> Vec<Vec<String>> {
    course.waves.iter().map(|wave| wave.iter().map(words).collect()).collect()
}
