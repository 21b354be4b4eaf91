-- When the last file with this content got another one: then the content is about to be removed, and no new file uses
-- it.
ALTER TABLE contents ADD COLUMN IF NOT EXISTS retired_at TIMESTAMPTZ;
