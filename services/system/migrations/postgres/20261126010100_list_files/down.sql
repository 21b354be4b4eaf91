DROP INDEX files_name_key, files_hash, files_user, files_archived_bucket, files_archived_kind,
    files_archived_owner_bucket, files_archived_owner_kind, files_bucket, files_kind, files_owner_bucket,
    files_owner_kind, files_without_name_key;
ALTER TABLE files DROP COLUMN name_key;
