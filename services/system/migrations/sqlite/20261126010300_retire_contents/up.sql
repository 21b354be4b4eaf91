-- When the last file with this content got another one: then the content is about to be removed, and no new file uses
-- it.
ALTER TABLE contents ADD COLUMN retired_at INTEGER;
CREATE INDEX contents_retired ON contents (hash) WHERE retired_at IS NOT NULL;
