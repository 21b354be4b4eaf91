//! Searches everything that a database stores for a text.

use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::TestDatabase;

/// A column of a table.
#[derive(QueryableByName)]
struct ColumnRow {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    column_name: String,
    #[diesel(sql_type = Text)]
    column_type: String,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    found: bool,
}

impl TestDatabase {
    /// Returns the columns of all tables that contain the text in any case, as `table.column`, sorted. On SQLite also
    /// the files of the database with it, as `file` and `log`: deleted rows may still be there.
    pub fn mentions(&self, text: &str) -> Vec<String> {
        let mut found = match self.url.strip_prefix("sqlite://") {
            Some(file) => {
                let mut columns = sqlite_mentions(&mut SqliteConnection::establish(file).unwrap(), text);
                for (name, path) in [("file", file.to_owned()), ("log", format!("{file}-wal"))] {
                    let bytes = std::fs::read(path).unwrap_or_default();
                    if String::from_utf8_lossy(&bytes).to_lowercase().contains(&text.to_lowercase()) {
                        columns.push(name.to_owned());
                    }
                }
                columns
            }
            None => postgres_mentions(&mut PgConnection::establish(&self.url).unwrap(), text),
        };
        found.sort();
        found
    }
}

fn sqlite_mentions(c: &mut SqliteConnection, text: &str) -> Vec<String> {
    // The shadow tables of a full-text index are listed as well.
    let columns = "SELECT t.name AS table_name, c.name AS column_name, c.type AS column_type
        FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name) AS c
        WHERE t.schema = 'main' AND t.type IN ('table', 'shadow') AND t.name <> 'sqlite_schema'";
    let columns: Vec<ColumnRow> = diesel::sql_query(columns).load(c).unwrap();
    let mut found = Vec::new();
    for ColumnRow { table_name, column_name, .. } in columns {
        let any = format!(
            "SELECT EXISTS (SELECT 1 FROM \"{table_name}\"
             WHERE instr(lower(CAST(\"{column_name}\" AS TEXT)), lower($1)) > 0) AS found"
        );
        if diesel::sql_query(any).bind::<Text, _>(text).get_result::<Found>(c).unwrap().found {
            found.push(format!("{table_name}.{column_name}"));
        }
    }
    found
}

fn postgres_mentions(c: &mut PgConnection, text: &str) -> Vec<String> {
    let columns =
        "SELECT format('%I.%I', table_schema, table_name) AS table_name, column_name::text AS column_name,
        data_type::text AS column_type
        FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')";
    let columns: Vec<ColumnRow> = diesel::sql_query(columns).load(c).unwrap();
    let mut found = Vec::new();
    for ColumnRow { table_name, column_name, column_type } in columns {
        let value = match &*column_type {
            "bytea" => format!("encode(\"{column_name}\", 'escape')"),
            _ => format!("\"{column_name}\"::text"),
        };
        let any = format!(
            "SELECT EXISTS (SELECT 1 FROM {table_name} WHERE strpos(lower({value}), lower($1)) > 0) AS found"
        );
        if diesel::sql_query(any).bind::<Text, _>(text).get_result::<Found>(c).unwrap().found {
            let table = table_name.rsplit('.').next().unwrap();
            found.push(format!("{table}.{column_name}"));
        }
    }
    found
}
