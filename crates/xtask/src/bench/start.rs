//! How soon services answer and what they hold: idle, and after all that was measured before.

use std::fs;

use anyhow::Result;

use super::sample::median;
use super::stage::Stage;
use crate::workspace::SERVICES;

/// So many starts.
const STARTS: usize = 5;

/// Start over a new database and over one that is there, idle memory, size of the program.
pub fn run(stage: &Stage) -> Result<()> {
    for name in SERVICES {
        let (soon, small) = if name == "system" { (120.0, 60.0) } else { (50.0, 25.0) };
        let (mut fresh, mut again, mut idle) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..STARTS {
            stage.stop.check()?;
            let (data, database) = (stage.path(name), stage.database(name)?);
            for times in [&mut fresh, &mut again] {
                let service = stage.start_over(name, data.clone(), database.clone())?;
                times.push(service.start_up.as_secs_f64() * 1000.0);
                idle.push(service.memory()?);
            }
        }
        let fact = |what: &str, values: Vec<f64>, most, unit| {
            stage.fact(format!("{name}: {what}"), median(values).unwrap_or_default(), most, unit);
        };
        fact("start to first answer, new database", fresh, None, "ms");
        fact("start to first answer", again, Some(soon), "ms");
        fact("idle memory, its own", idle.iter().map(|memory| memory.anon).collect(), None, "MiB");
        fact("idle memory, all", idle.iter().map(|memory| memory.resident).collect(), Some(small), "MiB");
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let size = fs::metadata(stage.binaries.join(name))?.len() as f64;
        fact("program", vec![size / 1_048_576.0], Some(20.0), "MiB");
    }
    Ok(())
}

/// What the services hold that were measured.
pub fn loaded(stage: &Stage) -> Result<()> {
    for service in stage.used() {
        let memory = service.memory()?;
        stage.fact(format!("{}: memory under load, its own", service.name), memory.anon, Some(150.0), "MiB");
        stage.fact(
            format!("{}: memory under load, all that is mapped", service.name),
            memory.resident,
            None,
            "MiB",
        );
    }
    Ok(())
}
