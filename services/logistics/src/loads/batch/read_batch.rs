//! A batch whose rows were read: what it would do, and the responses that need no transaction.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use common::system::{FoundFiles, SystemClient};
use common::wire::FileReference;
use common::{Caller, Error};
use database::{AnyConnection, Database, Id};
use parking_lot::Mutex;

use super::Batches;
use super::faults::{Faults, with_members};
use super::options::{IfExists, Include, SheetFormat};
use super::plan::{Checked, Purpose};
use super::recognised::RecognisedFile;
use super::second_reading::{RowCells, SecondReading};
use super::spooled_import::SpooledImport;
use super::store::refuse_repeat;
use crate::commodities::Catalogue;

/// The number of files that are looked up at a time.
const FILES_AT_ONCE: usize = 200;

/// The parts of the service that a batch needs.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) db: &'a Database,
    pub(crate) files: &'a SystemClient,
    pub(crate) commodities: &'a Arc<Catalogue>,
    pub(crate) batches: &'a Batches,
}

/// A batch whose rows were read.
pub(crate) struct ReadBatch {
    /// The valid rows.
    pub(crate) import: SpooledImport,
    /// What is wrong with the others, and with the upload.
    pub(crate) faults: Faults,
    pub(crate) recognised: Vec<RecognisedFile>,
    pub(crate) reading: SecondReading,
    pub(crate) include: Option<Include>,
    pub(crate) format: Option<SheetFormat>,
}

/// A batch that can be stored as far as is known.
pub(crate) struct Preview {
    pub(super) import: Arc<Mutex<SpooledImport>>,
    /// What its rows would do, if it was determined.
    pub(super) checked: Option<Checked>,
}

impl ReadBatch {
    /// Returns the batch if it may be stored.
    ///
    /// # Errors
    /// 400 and 403 for what is wrong with the upload, and with rows unless these are left out and others remain.
    pub(super) async fn preview(self, app: Parts<'_>) -> Result<Preview, Error> {
        let leaves_out = self.import.leaves_out && !self.import.identities.is_empty();
        if self.faults.has_upload_faults() || !(self.faults.is_empty() || leaves_out) {
            return Err(self.refuse(app).await);
        }
        let include = self.include;
        let (import, reading, checked) = self.look(app).await?;
        let Some((checked, repeat)) = checked else { return Ok(Preview { import, checked: None }) };
        if let Some(include) = include {
            let mut rows = checked.faults.rows(!import.lock().leaves_out);
            if include == Include::SameReference {
                rows.extend(import.lock().rows_of_same_reference());
            }
            import.lock().row_cells = Some(cells_of(reading, rows).await?);
        }
        import.lock().refuse_rows(&checked)?;
        if import.lock().dry_run {
            repeat?;
        }
        let caller = import.lock().caller.clone();
        let files = look_up_files(app, &caller, &checked.shared_files).await?;
        import.lock().shared_files = files;
        Ok(Preview { import, checked: Some(checked) })
    }

    /// Returns the sheet with the problems of its rows.
    ///
    /// # Errors
    /// 400 for what is wrong with the upload, 409 if the content was imported before.
    pub(crate) async fn sheet(self, app: Parts<'_>) -> Result<Vec<u8>, Error> {
        let Some(format) = self.format.filter(|_| !self.faults.has_upload_faults()) else {
            return Err(self.refuse(app).await);
        };
        let (import, reading, checked) = self.look(app).await?;
        let Some((checked, repeat)) = checked else { return Ok(Vec::new()) };
        repeat?;
        blocking(move || {
            let sheet = reading.sheet(format, &checked.faults);
            // The import holds the permit of a batch, also if the caller is gone before the sheet is written.
            drop(import);
            sheet
        })
        .await
    }

    /// Compares the rows with loads, if the answer depends on that. Other writes do not wait for it.
    async fn look(self, app: Parts<'_>) -> Result<Looked, Error> {
        let Self { mut import, faults, recognised, reading, include, .. } = self;
        import.flush()?;
        (import.recognised, import.faults) = (recognised, faults);
        let compares = matches!(import.import.if_exists, IfExists::Skip | IfExists::Update);
        let is_needed = import.dry_run || compares || include.is_some();
        let import = Arc::new(Mutex::new(import));
        let (shared, catalogue) = (import.clone(), app.commodities.clone());
        let look = move |c: &mut AnyConnection| {
            let mut import = shared.lock();
            import.find_similar(c)?;
            if !is_needed {
                return Ok(None);
            }
            let checked = import.check(c, &catalogue, Purpose::Preview)?;
            import.differing.clone_from(&checked.differing);
            if import.dry_run {
                import.find_same_reference(c, &checked)?;
            }
            Ok::<_, Error>(Some((checked, refuse_repeat(c, &import.import))))
        };
        let checked = app.db.read(look).await?;
        Ok((import, reading, checked))
    }

    /// Returns the error of a batch with invalid rows, with what is wrong with the others.
    async fn refuse(self, app: Parts<'_>) -> Error {
        match self.find_faults(app).await {
            Ok(error) | Err(error) => error,
        }
    }

    async fn find_faults(self, app: Parts<'_>) -> Result<Error, Error> {
        let Self { mut import, mut faults, recognised, reading, include, .. } = self;
        import.recognised = recognised;
        import.flush()?;
        // What a row lacks is only known if its load is, and that depends on how the upload is read.
        let compares = match import.import.if_exists {
            IfExists::Refuse => true,
            IfExists::Skip => false,
            IfExists::Create | IfExists::Update => !faults.has_upload_faults(),
        };
        let import = Arc::new(Mutex::new(import));
        if compares {
            import.lock().faults = faults;
            let (shared, catalogue) = (import.clone(), app.commodities.clone());
            let check = move |c: &mut AnyConnection| shared.lock().check(c, &catalogue, Purpose::Preview);
            faults = app.db.read(check).await?.faults;
        }
        if include.is_some() {
            import.lock().row_cells = Some(cells_of(reading, faults.rows(true)).await?);
        }
        let members = import.lock().members()?;
        Ok(with_members(faults.into_error(), &members))
    }
}

/// The import, its files, and what its rows would do, with the error of content that was imported before.
type Looked = (Arc<Mutex<SpooledImport>>, SecondReading, Option<(Checked, Result<(), Error>)>);

async fn cells_of(reading: SecondReading, rows: BTreeSet<usize>) -> Result<Vec<RowCells>, Error> {
    blocking(move || reading.cells(&rows)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|e| Error::Internal(e.into()))?
}

/// Looks up the files of loads that get another carrier.
///
/// # Errors
/// 503 if the system service is unavailable.
async fn look_up_files(
    app: Parts<'_>,
    caller: &Caller,
    loads: &[(Id, Vec<FileReference>)],
) -> Result<HashMap<Id, FoundFiles>, Error> {
    let mut found = HashMap::new();
    let mut rest = loads;
    while !rest.is_empty() {
        let mut files: Vec<FileReference> = Vec::new();
        let mut count = 0;
        while let Some((_, more)) = rest.get(count)
            && (count == 0 || files.len() + more.len() <= FILES_AT_ONCE)
        {
            files.extend_from_slice(more);
            count += 1;
        }
        let looked_up = app.files.look_up(caller, &files).await?;
        found.extend(rest[..count].iter().map(|(load, files)| (*load, looked_up.only(files))));
        rest = &rest[count..];
    }
    Ok(found)
}
