//! The OpenAPI document of each service, generated from its code and checked in beside it.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::interrupt::Interrupt;

const MEND: &str = "cargo xtask openapi";

/// Writes the documents, or with `check` compares them and fails naming those that differ.
pub fn run(check: bool, stop: &Interrupt) -> Result<()> {
    let mut stale = Vec::new();
    for service in SERVICES {
        stop.check()?;
        let generated = generate(service);
        stop.check()?; // Ctrl-C reaches cargo too
        let document = generated?;
        let name = format!("services/{service}/openapi.json");
        let path = checkout::root().join(&name);
        let old = fs::read_to_string(&path).unwrap_or_default();
        if old == document {
            println!("{name}: up to date");
        } else if check {
            stale.push(format!("{name} ({})", difference(&old, &document)));
        } else {
            fs::write(&path, document).with_context(|| format!("cannot write {name}: make it writable"))?;
            println!("{name}: written");
        }
    }
    if stale.is_empty() {
        // With `check`, a test of the crate compares what follows from the documents.
        return if check { Ok(()) } else { derive() };
    }
    bail!("not what the code says: {}; run `{MEND}` and commit what it writes", stale.join(", "));
}

/// Writes what follows from the documents: `docs/api/llms.txt` and `clients/bruno`.
fn derive() -> Result<()> {
    let mut command = checkout::cargo();
    command.args(["run", "--quiet", "--package", "cli", "--", "generate"]).arg(checkout::root());
    if !command.status().context("cannot run cargo: install Rust and put it on PATH")?.success() {
        bail!("`cargo run -p cli -- generate` failed: mend what it says above");
    }
    Ok(())
}

fn generate(service: &str) -> Result<String> {
    let output = checkout::cargo()
        .args(["run", "--quiet", "--package", service, "--", "openapi"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo: install Rust and put it on PATH")?;
    if !output.status.success() {
        bail!("`cargo run -p {service} -- openapi` failed: mend what it says above");
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("{service} printed no UTF-8"))?;
    serde_json::from_str::<Value>(&text).with_context(|| {
        format!("`cargo run -p {service} -- openapi` printed something that is not JSON: keep logs on stderr")
    })?;
    Ok(format!("{}\n", text.trim_end()))
}

/// Where two documents first differ, for a person.
fn difference(old: &str, new: &str) -> String {
    if old.is_empty() {
        return "missing".to_owned();
    }
    let line = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    format!("from line {}", line + 1)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("a\nb\n", "a\nc\n"), "from line 2");
        assert_eq!(difference("a\n", "a\nc\n"), "from line 2");
        assert_eq!(difference("", "a\n"), "missing");
    }
}
