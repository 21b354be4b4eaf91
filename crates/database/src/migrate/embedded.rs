//! Migrations embedded in the program: a folder for each, named VERSION_NAME, with `up.sql` and `down.sql`.

use std::fmt::{self, Display, Formatter};

use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{Migration, MigrationMetadata, MigrationName, MigrationVersion, Result};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use include_dir::{Dir, File};

use super::script::split_statements;

/// A folder of migrations, from `include_dir!`.
///
/// Diesel sends each script at once. Citus refuses some statements together with others, so scripts of PostgreSQL are
/// sent one statement after the other.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedMigrations(pub &'static Dir<'static>);

/// One of the migrations.
pub(super) struct EmbeddedMigration {
    name: Name,
    up: &'static str,
    down: &'static str,
}

/// The name of a migration's folder.
struct Name(&'static str);

impl EmbeddedMigrations {
    /// Returns the migrations in the order of their versions.
    pub(super) fn list<DB: Backend>(self) -> Result<Vec<Box<dyn Migration<DB>>>>
    where
        EmbeddedMigration: Migration<DB>,
    {
        let mut all = Vec::new();
        for folder in self.0.dirs() {
            let name = folder.path().to_str().ok_or("a migration's folder is not named in UTF-8")?;
            if folder.files().count() != 2 {
                return Err(format!("the migration {name} has other files than up.sql and down.sql").into());
            }
            let text = |file: &str| {
                let text = folder.get_file(folder.path().join(file)).and_then(File::contents_utf8);
                text.ok_or_else(|| format!("the migration {name} lacks {file}"))
            };
            all.push(EmbeddedMigration { name: Name(name), up: text("up.sql")?, down: text("down.sql")? });
        }
        all.sort_unstable_by_key(|migration| migration.name.0);
        Ok(all.into_iter().map(|migration| Box::new(migration) as Box<dyn Migration<DB>>).collect())
    }
}

impl Migration<Pg> for EmbeddedMigration {
    fn run(&self, c: &mut dyn BoxableConnection<Pg>) -> Result<()> {
        run_script(c, self.up)
    }

    fn revert(&self, c: &mut dyn BoxableConnection<Pg>) -> Result<()> {
        run_script(c, self.down)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        &self.name
    }
}

impl Migration<Sqlite> for EmbeddedMigration {
    fn run(&self, c: &mut dyn BoxableConnection<Sqlite>) -> Result<()> {
        Ok(c.batch_execute(self.up)?)
    }

    fn revert(&self, c: &mut dyn BoxableConnection<Sqlite>) -> Result<()> {
        Ok(c.batch_execute(self.down)?)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        &self.name
    }
}

/// Runs the statements of a script of PostgreSQL one after the other.
fn run_script(c: &mut dyn BoxableConnection<Pg>, script: &str) -> Result<()> {
    split_statements(script).into_iter().try_for_each(|statement| Ok(c.batch_execute(statement)?))
}

/// Each migration runs in a transaction.
impl MigrationMetadata for EmbeddedMigration {}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl MigrationName for Name {
    fn version(&self) -> MigrationVersion<'_> {
        self.0.split('_').next().unwrap_or(self.0).into()
    }
}
