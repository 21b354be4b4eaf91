//! PostgreSQL in a benchmark: rows like those that are there, and pgbench.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::sample::{Sample, percentile};
use super::stage::Stage;
use crate::databases::{Databases, options};

/// pgbench takes no more scripts.
const SCRIPTS: usize = 128;
/// A UUID of version 7, as the services make them, and its time.
const NEW: &str = "(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || \
                   substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid, clock_timestamp()";

/// A set of scripts for pgbench.
pub struct Bench {
    command: Command,
    log: PathBuf,
}

impl Databases {
    /// Statements that insert rows like those that a table has, with ids and times of their own, a line each.
    pub fn inserts(&self, service: &str, table: &str) -> Result<Vec<String>> {
        let rows = format!(
            "SELECT format('INSERT INTO {table} (id, created_at, %s) VALUES (%s)', \
                 string_agg(quote_ident(key), ', '), $new${NEW}, $new$ || string_agg(quote_nullable(told), ', ')) \
             FROM (SELECT row_number() OVER () AS line, row_to_json(r) AS cells FROM {table} r LIMIT {SCRIPTS}) AS rows, \
                 json_each_text(cells), replace(value, chr(10), ' ') AS told \
             WHERE key NOT IN ('id', 'created_at') GROUP BY line"
        );
        Ok(self.say(service, &rows)?.lines().map(str::to_owned).collect())
    }

    /// The columns of a table but its id and time, and what makes new ones of those.
    pub fn columns(&self, service: &str, table: &str) -> Result<(String, &'static str)> {
        let columns = format!(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE table_name = \
             '{table}' AND table_schema = '{service}' AND column_name NOT IN ('id', 'created_at')"
        );
        Ok((self.say(service, &columns)?.trim().to_owned(), NEW))
    }

    /// pgbench with these statements, each prepared once by each client.
    pub fn bench(
        &self,
        stage: &Stage,
        service: &str,
        statements: &[String],
        clients: usize,
    ) -> Result<Bench> {
        let folder = stage.path("pgbench");
        fs::create_dir_all(&folder)?;
        let mut command = Command::new(self.programs.join("pgbench"));
        command.args(["-n", "-M", "prepared", "-j", "1", "-l", "-c", &clients.to_string()]);
        for (i, statement) in statements.iter().take(SCRIPTS).enumerate() {
            let file = folder.join(format!("{i}.sql"));
            fs::write(&file, without_colons(statement) + ";\n")?;
            command.arg("-f").arg(file);
        }
        command.env("PGOPTIONS", options(service)).current_dir(&folder).arg(self.of(service)?);
        Ok(Bench { command, log: folder })
    }
}

impl Bench {
    /// For so many seconds.
    pub fn run(&self, seconds: u64) -> Result<Sample> {
        let mut command = Command::new(self.command.get_program());
        command.args(self.command.get_args()).args(["-T", &seconds.to_string()]).current_dir(&self.log);
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().context("cannot run pgbench")?;
        if !output.status.success() {
            bail!("pgbench: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let (requests, rate) = parse(&String::from_utf8_lossy(&output.stdout))
            .context("pgbench ended no transaction in this time: give it more with --seconds")?;
        let mut times = Vec::new();
        for file in fs::read_dir(&self.log)?.flatten().map(|entry| entry.path()) {
            if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pgbench_log")) {
                times.extend(fs::read_to_string(&file)?.lines().filter_map(latency));
                fs::remove_file(&file)?;
            }
        }
        times.sort_by(f64::total_cmp);
        let [p50, p99] = [50, 99].map(|percent| percentile(&times, percent).unwrap_or_default());
        Ok(Sample { requests, us: requests / rate * 1e6, p50, p99, cpu_us: None })
    }
}

/// How many transactions there were, and how many a second.
fn parse(output: &str) -> Option<(f64, f64)> {
    let number = |before: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(before))?;
        line.split([' ', '/']).next()?.parse::<f64>().ok()
    };
    Some((number("number of transactions actually processed: ")?, number("tps = ")?))
}

/// Microseconds: the third cell of a line of pgbench's log.
fn latency(line: &str) -> Option<f64> {
    line.split(' ').nth(2)?.parse().ok()
}

/// The same statement; pgbench takes `:a`, even in quotes, for a variable.
fn without_colons(sql: &str) -> String {
    let (mut text, mut parts) = (String::new(), sql.split('\'').peekable());
    while let Some(outside) = parts.next() {
        text += outside;
        let Some(inside) = parts.next() else { break };
        let escaped = outside.ends_with('E');
        // Nothing between two quotes: a quote within the quotes that began before.
        if !escaped && (!outside.is_empty() || text.is_empty()) {
            text.push('E');
        }
        let inside = if escaped { inside.to_owned() } else { inside.replace('\\', "\\\\") };
        text.extend(["'", &inside.replace(':', "\\x3a")]);
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
    fn what_pgbench_says_is_read() {
        let said = "transaction type: a\nnumber of transactions actually processed: 1234\n\
                    latency average = 1.6 ms\ntps = 617.25 (without initial connection time)\n";
        assert_eq!(parse(said), Some((1234.0, 617.25)));
        assert_eq!(parse("tps = 1"), None);
        assert_eq!(latency("0 199 2241 0 1175850568 995598"), Some(2241.0));
    }

    #[test]
    fn pgbench_sees_no_variables() {
        for (sql, expected) in [
            ("SELECT a::b", "SELECT a::b"),
            ("SELECT '{\"a\":true}', ' 00:00'", r#"SELECT E'{"a"\x3atrue}', E' 00\x3a00'"#),
            (r"SELECT 'it''s: \n', E'a\\b:'", r"SELECT E'it''s\x3a \\n', E'a\\b\x3a'"),
        ] {
            assert_eq!(without_colons(sql), expected);
        }
    }
}
