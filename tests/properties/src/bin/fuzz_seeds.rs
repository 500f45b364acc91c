//! Writes the seeds of every property into a folder each: `fuzz-seeds DIR`.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("fuzz-seeds DIR"))?;
    for (name, _) in eventlane_properties::PROPERTIES {
        let folder = Path::new(&folder).join(name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in eventlane_properties::seeds(name).iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
