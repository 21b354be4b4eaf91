//! Plans of PostgreSQL, with the pages that they read.

use common::Service;
use database::{AnyConnection, Database, Error, Options};
use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use serde_json::Value;

use crate::{App, options};

/// A plan and what its execution read.
#[derive(Debug)]
pub struct ExecutedPlan {
    /// Its steps.
    pub text: String,
    /// The pages that it read, from the cache or the disk.
    pub pages: u64,
}

#[derive(diesel::QueryableByName)]
struct PlanLine {
    #[diesel(sql_type = diesel::sql_types::Text, column_name = "QUERY PLAN")]
    line: String,
}

impl App {
    /// Executes a recorded statement on PostgreSQL again: with the plan that the service keeps for all values, and with
    /// one for the recorded values.
    pub async fn executed_plans<S: Service>(&self, statement: &str) -> [ExecutedPlan; 2] {
        let options = Options { migrate: false, ..options(&self.database.url, S::NAME) };
        let db = Database::open(options, Vec::new).await.unwrap();
        let (sql, values) = statement.split_once(" -- binds: ").expect("a recorded statement");
        let (sql, values) = (sql.to_owned(), literals(values));
        let explain = move |c: &mut AnyConnection| Ok::<_, Error>(explain(c, &sql, &values));
        [db.read_with_reusable_plan(explain.clone()).await.unwrap(), db.read(explain).await.unwrap()]
    }
}

fn explain(c: &mut AnyConnection, sql: &str, values: &str) -> ExecutedPlan {
    let AnyConnection::Postgres(c) = c else { panic!("a PostgreSQL database") };
    c.batch_execute(&format!("PREPARE explained AS {sql}")).unwrap();
    let explain = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE explained";
    let lines: Vec<PlanLine> = diesel::sql_query(format!("{explain} ({values})")).load(c).unwrap();
    c.batch_execute("DEALLOCATE explained").unwrap();
    let first = lines.iter().find_map(|line| line.line.trim_start().strip_prefix("Buffers: shared "));
    let counts = first.unwrap_or_default().split(' ').filter_map(|count| count.split_once('='));
    let pages =
        counts.filter(|(kind, _)| ["hit", "read"].contains(kind)).map(|(_, count)| count.parse::<u64>());
    let pages = pages.map(Result::unwrap).sum();
    ExecutedPlan { text: lines.into_iter().map(|line| line.line + "\n").collect(), pages }
}

/// Returns values as Diesel writes them for debugging as SQL literals.
fn literals(values: &str) -> String {
    let json = values.replace("Timestamp(", "\"").replace("Id(", "\"").replace(')', "\"");
    let values: Vec<Value> = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {values}"));
    values.iter().map(literal).collect::<Vec<_>>().join(", ")
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Array(values) => {
            format!("ARRAY[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
