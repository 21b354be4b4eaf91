DROP INDEX IF EXISTS files_name_key;
DROP INDEX files_hash, files_user, files_archived_bucket, files_archived_kind, files_archived_owner_bucket,
    files_archived_owner_kind, files_bucket, files_kind, files_owner_bucket, files_owner_kind, files_without_name_key;
