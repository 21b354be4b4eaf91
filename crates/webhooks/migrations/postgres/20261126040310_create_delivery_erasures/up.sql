-- Loads and listings in which a user was erased, and whose deliveries still have to be rewritten. A load or listing may
-- have tens of thousands of deliveries: they are rewritten in the order of webhooks and ids, some in each transaction.
CREATE TABLE delivery_erasures (
    -- What the user id becomes.
    erased_id TEXT COLLATE "C" NOT NULL,
    id UUID NOT NULL,
    -- The load or listing.
    subject_id UUID NOT NULL,
    -- Ids of files that the user uploaded, in lower case, a JSON array.
    file_ids JSON NOT NULL,
    -- The last delivery that was rewritten. Before the first one: an empty text and zeros.
    webhook_id TEXT COLLATE "C" NOT NULL,
    delivery_id UUID NOT NULL,
    PRIMARY KEY (erased_id, id)
);
