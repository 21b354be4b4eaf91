-- The bodies of events, one for each, whatever the number of webhooks that get it.
CREATE TABLE IF NOT EXISTS webhook_messages (
    -- The id of the event, which its deliveries have too.
    id UUID NOT NULL PRIMARY KEY,
    -- The load or listing.
    subject_id UUID,
    -- The message as JSON, as it is sent.
    body JSON NOT NULL
);
CREATE INDEX IF NOT EXISTS webhook_messages_subject ON webhook_messages (subject_id, id) WHERE subject_id IS NOT NULL;

-- The users whose saved searches a message is about.
CREATE TABLE IF NOT EXISTS webhook_message_users (
    message_id UUID NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (message_id, user_id)
);
CREATE INDEX IF NOT EXISTS webhook_message_users_user ON webhook_message_users (user_id, message_id);

-- The organisation whose act caused the event. The body of a delivery is null if webhook_messages has it.
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS cause_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- The length of the body in webhook_messages, in bytes; 0 once it is deleted.
    ADD COLUMN IF NOT EXISTS bytes BIGINT NOT NULL DEFAULT 0;
