-- Replicas of the previous release write a load's document without its creator. Quotes within texts are escaped: what
-- is looked for is a member's name.
CREATE TRIGGER loads_creator_kept AFTER UPDATE OF document ON loads
    WHEN NEW.created_by <> '' AND instr(NEW.document, '"createdBy":') = 0
BEGIN
    UPDATE loads SET document = substr(NEW.document, 1, length(NEW.document) - 1)
        || ',"createdBy":{"organisationId":' || json_quote(NEW.created_by) || '}}'
        WHERE id = NEW.id;
END;

-- Replicas of the previous release make a delivered or failed notification pending again while another one of the same
-- load, event and recipient is pending.
CREATE TRIGGER notifications_settled_released AFTER UPDATE OF due_at ON notifications
    WHEN NEW.due_at IS NULL AND NEW.collapses IS NOT NULL
BEGIN
    UPDATE notifications SET collapses = NULL WHERE id = NEW.id;
END;
UPDATE notifications SET collapses = NULL WHERE due_at IS NULL AND collapses IS NOT NULL;
