//! `spreadsheets`: files that LibreOffice and openpyxl write are imported, in English and German, and they read what
//! exports write, with the same values and types.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use testkit::processes::process::output;
use testkit::processes::tools;
use testkit::processes::trial::Trial;

/// The organisation of the user of the program.
const ORG: &str = "border-grain";
/// The programs that make, send and compare the files.
const PROGRAMS: [(&str, &str); 2] =
    [("sheets.py", include_str!("sheets.py")), ("files.py", include_str!("files.py"))];

/// Imports and exports files of the spreadsheet programs.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let logistics = trial.service("logistics", "data", None, Vec::new())?;
    let folder = trial.path("spreadsheets");
    fs::create_dir_all(&folder)?;
    for (name, content) in PROGRAMS {
        fs::write(folder.join(name), content)?;
    }
    let begun = Instant::now();
    let mut program = Command::new(tools::find("python3")?);
    program.current_dir(&folder).arg("sheets.py").env("LOGISTICS", logistics.url(""));
    program.env("TOKEN", logistics.token(Some(ORG))).env("SOFFICE", tools::find("soffice")?);
    // Everything that LibreOffice writes is in the folder of the trial.
    program.env("HOME", &folder).env_remove("DISPLAY");
    for line in output(&mut program)?.lines() {
        if let Some((check, result)) = line.split_once(": ") {
            trial.note(check, result, "the same values and types");
        }
    }
    trial.note("all files", format!("{:.0} s", begun.elapsed().as_secs_f64()), "made, sent and read");
    Ok(())
}
