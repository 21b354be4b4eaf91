DROP INDEX notifications_settled;
DROP INDEX notifications_turns;
DROP INDEX notifications_pending_of;
DROP INDEX notifications_collapsed;
ALTER TABLE notifications DROP COLUMN collapses;
ALTER TABLE notifications DROP COLUMN organisation_id;
