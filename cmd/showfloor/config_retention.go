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
	RetentionAuditDays    string `env:"RETENTION_AUDIT_DAYS" envDefault:"0"`
	RetentionMessagesDays string `env:"RETENTION_MESSAGES_DAYS" envDefault:"0"`
	RetentionSessionsDays string `env:"RETENTION_SESSIONS_DAYS" envDefault:"0"`

	// The settings as durations; 0 means for ever.
	keepAudit, keepMessages, keepSessions time.Duration
}

// maxDays is the longest retention in days: about a hundred years.
const maxDays = 36500

// readRetention parses them.
func (s *RetentionSettings) readRetention() error {
	for _, setting := range []struct {
		name, text string
		keep       *time.Duration
	}{
		{"RETENTION_AUDIT_DAYS", s.RetentionAuditDays, &s.keepAudit},
		{"RETENTION_MESSAGES_DAYS", s.RetentionMessagesDays, &s.keepMessages},
		{"RETENTION_SESSIONS_DAYS", s.RetentionSessionsDays, &s.keepSessions},
	} {
		days, err := strconv.ParseUint(setting.text, 10, 32)
		if err != nil || days > maxDays {
			return fmt.Errorf("%s: %q is not a number of days from 1 to %d, or 0 to keep for ever", setting.name, setting.text, maxDays)
		}
		*setting.keep = time.Duration(days) * 24 * time.Hour
	}
	return nil
}
