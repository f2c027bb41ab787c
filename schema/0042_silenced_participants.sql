-- +goose Up

-- A moderator muted the participant, who hasn't unmuted since: the audio of a shared screen is
-- not forwarded either. Only muted participants are silenced.
ALTER TABLE participants ADD COLUMN silenced boolean NOT NULL DEFAULT false;
