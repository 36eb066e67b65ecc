//! Replays a trace without Python: `replay TRACE DEVICE SCHEME [key=value ...]`; prints the result. For profiling.

use flashraid_sim::{Config, run};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, device, scheme, settings @ ..] = arguments.as_slice() else {
        eprintln!("replay TRACE DEVICE SCHEME [key=value ...]");
        std::process::exit(2);
    };
    let settings: Vec<_> =
        settings.iter().filter_map(|setting| setting.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let finished = Config::assemble(Some(device), Some(scheme), None, &settings)
        .map_err(Into::into)
        .and_then(|config| run(Path::new(trace), config, true, &mut |_| true));
    match finished {
        Ok(finished) => {
            print!("{}", finished.json);
            finished.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            std::process::exit(finished.status.into());
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(if error.is_input() { 2 } else { 1 });
        }
    }
}
