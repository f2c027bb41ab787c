-- +goose Up

-- A moderator muted the participant, who hasn't unmuted since: the sound of a shared screen
-- isn't passed on either. Only muted participants are silenced.
ALTER TABLE participants ADD COLUMN silenced boolean NOT NULL DEFAULT false;
