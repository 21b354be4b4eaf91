-- 'own': events of the organisation. 'all': events of every organisation, for which organisation_id may be empty.
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS scope TEXT COLLATE "C" NOT NULL DEFAULT 'own';
