DROP TRIGGER notifications_settled_released ON notifications;
DROP FUNCTION release_settled_notification;
DROP TRIGGER loads_creator_kept ON loads;
DROP FUNCTION keep_load_creator;
