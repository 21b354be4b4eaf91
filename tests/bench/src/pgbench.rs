//! pgbench, and statements for it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use testkit::processes::databases::{Databases, options};

use crate::environment::BenchEnvironment;
use crate::measurement::{Measurement, percentile};

/// Maximum number of scripts of one run. Each client plans each script once, which must stay a small part of the run.
const MAX_SCRIPTS: usize = 64;
/// Number of existing rows that inserted rows are copied from. Up to 64 clients plan a script for each.
const INSERT_SCRIPTS: usize = 8;
/// SQL of a new UUID of version 7 and of its time, like those of the services.
const NEW_ID_AND_TIME: &str = "(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || \
                               '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid, clock_timestamp()";

/// pgbench with a script for each statement. Each client prepares each statement once.
pub struct Pgbench {
    program: PathBuf,
    args: Vec<String>,
    options: String,
    folder: PathBuf,
}

impl Pgbench {
    /// Writes the scripts. Uses the first 64 statements.
    pub fn new(
        env: &BenchEnvironment,
        postgres: &Databases,
        service: &str,
        statements: &[String],
        clients: usize,
    ) -> Result<Self> {
        let folder = env.temp_path("pgbench");
        fs::create_dir_all(&folder)?;
        let clients = clients.to_string();
        let mut args = ["-n", "-M", "prepared", "-j", "1", "-l", "-c", &clients].map(str::to_owned).to_vec();
        for (number, statement) in statements.iter().take(MAX_SCRIPTS).enumerate() {
            let file = format!("{number}.sql");
            fs::write(folder.join(&file), escape_colons(statement) + ";\n")?;
            args.extend(["-f".to_owned(), file]);
        }
        args.push(postgres.url_of(service)?);
        Ok(Self { program: postgres.programs.join("pgbench"), args, options: options(service), folder })
    }

    /// Runs the scripts in random order for `seconds` seconds.
    pub fn run(&self, seconds: u64) -> Result<Measurement> {
        let output = Command::new(&self.program)
            .args(["-T", &seconds.to_string()])
            .args(&self.args)
            .env("PGOPTIONS", &self.options)
            .current_dir(&self.folder)
            .output()
            .context("cannot run pgbench")?;
        if !output.status.success() {
            bail!("pgbench: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let (requests, rate) = parse_summary(&String::from_utf8_lossy(&output.stdout))
            .context("pgbench finished no transaction within this time: increase --seconds")?;
        let latencies = self.take_latencies()?;
        let percentile = |per_mille| percentile(&latencies, per_mille).unwrap_or_default();
        Ok(Measurement {
            requests,
            elapsed_us: requests / rate * 1e6,
            p50_us: percentile(500),
            p99_us: percentile(990),
            p999_us: percentile(999),
            cpu_us: None,
        })
    }

    /// Reads and removes the logs of a run. Returns the sorted latencies in microseconds.
    fn take_latencies(&self) -> Result<Vec<f64>> {
        let mut latencies = Vec::new();
        for file in fs::read_dir(&self.folder)?.flatten().map(|entry| entry.path()) {
            if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pgbench_log")) {
                latencies.extend(fs::read_to_string(&file)?.lines().filter_map(parse_latency));
                fs::remove_file(&file)?;
            }
        }
        latencies.sort_by(f64::total_cmp);
        Ok(latencies)
    }
}

/// Returns statements that insert copies of existing rows with new ids and times.
pub fn insert_statements(postgres: &Databases, service: &str, table: &str) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT format('INSERT INTO {table} (id, created_at, %s) VALUES (%s)', string_agg(quote_ident(key), ', '), \
             $new${NEW_ID_AND_TIME}, $new$ || string_agg(quote_nullable(one_line), ', ')) \
         FROM (SELECT row_number() OVER () AS number, row_to_json(r) AS cells \
                 FROM {table} r LIMIT {INSERT_SCRIPTS}) AS rows, \
             json_each_text(cells), replace(value, chr(10), ' ') AS one_line \
         WHERE key NOT IN ('id', 'created_at') GROUP BY number"
    );
    Ok(postgres.execute_for(service, &sql)?.lines().map(str::to_owned).collect())
}

/// Returns a SELECT list for copies of rows of a table with new ids and times, and its column names.
pub fn copy_columns(postgres: &Databases, service: &str, table: &str) -> Result<(String, String)> {
    let sql = format!(
        "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE table_name = \
         '{table}' AND table_schema = '{service}' AND column_name NOT IN ('id', 'created_at')"
    );
    let columns = postgres.execute_for(service, &sql)?;
    let columns = columns.trim();
    Ok((format!("{NEW_ID_AND_TIME}, {columns}"), format!("id, created_at, {columns}")))
}

/// Parses the number of transactions and their rate per second.
fn parse_summary(output: &str) -> Option<(f64, f64)> {
    let number = |prefix: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(prefix))?;
        line.split([' ', '/']).next()?.parse::<f64>().ok()
    };
    Some((number("number of transactions actually processed: ")?, number("tps = ")?))
}

/// Parses the latency in microseconds: the third cell of a line of the log.
fn parse_latency(line: &str) -> Option<f64> {
    line.split(' ').nth(2)?.parse().ok()
}

/// Escapes the colons in string literals: pgbench treats `:a` as a variable even there.
fn escape_colons(sql: &str) -> String {
    let (mut text, mut parts) = (String::new(), sql.split('\'').peekable());
    while let Some(outside) = parts.next() {
        text += outside;
        let Some(literal) = parts.next() else { break };
        let is_escape_string = outside.ends_with('E');
        // Nothing between two quotes: an escaped quote within a literal.
        if !is_escape_string && (!outside.is_empty() || text.is_empty()) {
            text.push('E');
        }
        let literal = if is_escape_string { literal.to_owned() } else { literal.replace('\\', "\\\\") };
        text.extend(["'", &literal.replace(':', "\\x3a")]);
        if parts.peek().is_some() {
            text.push('\'');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_pgbench() {
        let output = "transaction type: a\nnumber of transactions actually processed: 1234\n\
                      latency average = 1.6 ms\ntps = 617.25 (without initial connection time)\n";
        assert_eq!(parse_summary(output), Some((1234.0, 617.25)));
        assert_eq!(parse_summary("tps = 1"), None);
        assert_eq!(parse_latency("0 199 2241 0 1175850568 995598"), Some(2241.0));
    }

    #[test]
    fn escapes_colons_in_literals_only() {
        for (sql, expected) in [
            ("SELECT a::b", "SELECT a::b"),
            ("SELECT '{\"a\":true}', ' 00:00'", r#"SELECT E'{"a"\x3atrue}', E' 00\x3a00'"#),
            (r"SELECT 'it''s: \n', E'a\\b:'", r"SELECT E'it''s\x3a \\n', E'a\\b\x3a'"),
        ] {
            assert_eq!(escape_colons(sql), expected);
        }
    }
}
