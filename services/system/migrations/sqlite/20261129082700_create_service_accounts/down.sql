DROP TABLE service_accounts;
