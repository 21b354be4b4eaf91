DROP INDEX files_uploader;
