DROP TABLE due_shares;
