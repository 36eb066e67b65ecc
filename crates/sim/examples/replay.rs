//! Replays a trace without Python: `replay TRACE DEVICE SCHEME [key=value ...]`; prints the result. For profiling. Outputs are keys
//! with a colon before them, as in `:series=FILE.csv`.

use flashraid_sim::{Config, Outputs, run};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, device, scheme, settings @ ..] = arguments.as_slice() else {
        eprintln!("replay TRACE DEVICE SCHEME [key=value ...]");
        std::process::exit(2);
    };
    let pairs = settings.iter().filter_map(|setting| setting.split_once('='));
    let (outputs, settings): (Vec<_>, Vec<_>) =
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).partition(|(key, _)| key.starts_with(':'));
    let outputs: Vec<_> = outputs.into_iter().map(|(key, value)| (key[1..].to_owned(), value)).collect();
    let finished = Config::assemble(Some(device), Some(scheme), None, &settings)
        .and_then(|config| Ok((config, Outputs::from_pairs(&outputs)?)))
        .map_err(Into::into)
        .and_then(|(config, outputs)| run(Path::new(trace), config, &outputs, true, &mut |_| true));
    match finished {
        Ok(finished) => {
            print!("{}", finished.json());
            finished.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            std::process::exit(finished.status.code().into());
        }
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(if error.is_input() { 2 } else { 1 });
        }
    }
}
