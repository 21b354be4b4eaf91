DROP TRIGGER notifications_settled_released;
DROP TRIGGER loads_creator_kept;
