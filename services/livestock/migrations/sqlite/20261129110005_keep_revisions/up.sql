-- Documents show their revision. Replicas of the previous release write them without: the service rebuilds such rows.
CREATE TRIGGER listings_without_revision AFTER UPDATE OF document ON listings
    WHEN json_extract(new.document, '$.revision') IS NULL
BEGIN
    UPDATE listings SET derived = min(derived, 4) WHERE rowid = new.rowid;
END;
