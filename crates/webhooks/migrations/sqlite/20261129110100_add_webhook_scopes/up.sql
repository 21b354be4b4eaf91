-- 'own': events of the organisation. 'all': events of every organisation, for which organisation_id may be empty.
ALTER TABLE webhooks ADD COLUMN scope TEXT NOT NULL DEFAULT 'own';
CREATE INDEX webhooks_all ON webhooks (id) WHERE scope = 'all';
