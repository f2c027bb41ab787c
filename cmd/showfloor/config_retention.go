package main

import (
	"fmt"
	"strconv"
	"time"
)

// RetentionSettings are the times for which rows are kept. They are a part of
// config; the type is exported because the library that parses config ignores
// unexported embedded structs.
type RetentionSettings struct {
	RetentionAuditDays       string `env:"RETENTION_AUDIT_DAYS" envDefault:"0"`
	RetentionMessagesDays    string `env:"RETENTION_MESSAGES_DAYS" envDefault:"0"`
	RetentionSessionsDays    string `env:"RETENTION_SESSIONS_DAYS" envDefault:"0"`
	RetentionTranscriptsDays string `env:"RETENTION_TRANSCRIPTS_DAYS" envDefault:"0"`
}

// maxDays is the longest retention in days: about a hundred years.
const maxDays = 36500

// readRetention parses them.
func (c *config) readRetention() error {
	for _, setting := range []struct {
		name, text string
		keep       *time.Duration
	}{
		{"RETENTION_AUDIT_DAYS", c.RetentionAuditDays, &c.areas.KeepAudit},
		{"RETENTION_MESSAGES_DAYS", c.RetentionMessagesDays, &c.areas.KeepMessages},
		{"RETENTION_SESSIONS_DAYS", c.RetentionSessionsDays, &c.areas.KeepSessions},
		{"RETENTION_TRANSCRIPTS_DAYS", c.RetentionTranscriptsDays, &c.areas.KeepTranscripts},
	} {
		days, err := strconv.ParseUint(setting.text, 10, 32)
		if err != nil || days > maxDays {
			return fmt.Errorf("%s: %q is not a number of days from 1 to %d, or 0 to keep forever", setting.name, setting.text, maxDays)
		}
		*setting.keep = time.Duration(days) * 24 * time.Hour
	}
	return nil
}
