-- Ids of events that the previous release causes are UUIDv7, like all others.
DROP TRIGGER loads_completion_recorded;
CREATE TRIGGER loads_completion_recorded AFTER UPDATE OF status ON loads
    WHEN NEW.status <> OLD.status AND NEW.revision = OLD.revision
BEGIN
    UPDATE loads SET revision = revision + 1 WHERE id = NEW.id;
    INSERT INTO load_events (id, load_id, type, at) VALUES
        (unhex(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) || '7'
            || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + abs(random() % 4), 1)
            || substr(hex(randomblob(8)), 2)), NEW.id, NEW.status, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
END;
DROP TRIGGER loads_acceptance_recorded;
CREATE TRIGGER loads_acceptance_recorded AFTER UPDATE OF accepted_at ON loads
    WHEN NEW.accepted_at IS NOT OLD.accepted_at AND NEW.revision = OLD.revision
BEGIN
    UPDATE loads SET revision = revision + 1 WHERE id = NEW.id;
    INSERT INTO load_events (id, load_id, type, user_id, organisation_id, at) VALUES
        (unhex(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)) || '7'
            || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + abs(random() % 4), 1)
            || substr(hex(randomblob(8)), 2)), NEW.id, 'accepted', NEW.accepted_by, NEW.organiser_id, NEW.accepted_at);
END;
