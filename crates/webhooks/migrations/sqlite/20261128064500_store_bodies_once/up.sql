-- The bodies of events, one for each, whatever the number of webhooks that get it.
CREATE TABLE webhook_messages (
    -- The id of the event, which its deliveries have too.
    id BLOB NOT NULL PRIMARY KEY,
    -- The load or listing.
    subject_id BLOB,
    -- The message as JSON, as it is sent.
    body TEXT NOT NULL
) STRICT;
CREATE INDEX webhook_messages_subject ON webhook_messages (subject_id, id) WHERE subject_id IS NOT NULL;

-- The users whose saved searches a message is about.
CREATE TABLE webhook_message_users (
    message_id BLOB NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (message_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_message_users_user ON webhook_message_users (user_id, message_id);

-- The organisation whose act caused the event. The body of a delivery is null if webhook_messages has it.
ALTER TABLE webhook_deliveries ADD COLUMN cause_id TEXT NOT NULL DEFAULT '';
-- The length of the body in webhook_messages, in bytes; 0 once it is deleted.
ALTER TABLE webhook_deliveries ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
