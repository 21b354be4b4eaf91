-- Replicas of the previous release write a load's document without its creator.
CREATE FUNCTION keep_load_creator() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.document := (left(NEW.document::text, -1) || ',"createdBy":{"organisationId":'
        || to_json(NEW.created_by)::text || '}}')::json;
    RETURN NEW;
END $$;
-- Quotes within texts are escaped: what is looked for is a member's name.
CREATE TRIGGER loads_creator_kept BEFORE UPDATE OF document ON loads
    FOR EACH ROW WHEN (NEW.created_by <> '' AND strpos(NEW.document::text, '"createdBy":') = 0)
    EXECUTE FUNCTION keep_load_creator();

-- Replicas of the previous release make a delivered or failed notification pending again while another one of the same
-- load, event and recipient is pending.
CREATE FUNCTION release_settled_notification() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.collapses := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER notifications_settled_released BEFORE UPDATE OF due_at ON notifications
    FOR EACH ROW WHEN (NEW.due_at IS NULL AND NEW.collapses IS NOT NULL)
    EXECUTE FUNCTION release_settled_notification();
UPDATE notifications SET collapses = NULL WHERE due_at IS NULL AND collapses IS NOT NULL;
