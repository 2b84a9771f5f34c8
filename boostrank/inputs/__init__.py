"""Arguments and files of users, which are read and checked here, once."""
