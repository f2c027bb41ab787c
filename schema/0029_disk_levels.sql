-- +goose Up
-- Level of free disk space of each node at the last notification of its operator. A row's
-- change and the mail about it are one transaction, so that a restart repeats no mail.
CREATE TABLE disk_levels (
    node       text PRIMARY KEY,
    level      text NOT NULL,
    changed_at timestamptz NOT NULL
);
