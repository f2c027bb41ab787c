package chat

import (
	"context"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// CheckWriter returns a problem if a moderator doesn't let this user write in a channel at the moment: banned, muted or timed_out.
func (s *Service) CheckWriter(ctx context.Context, tenantID, channelID, userID string) error {
	statuses, err := userStatuses(ctx, db.New(s.config.Pool), channelKey{tenantID, channelID}, userID)
	if err != nil {
		return err
	}
	st := statuses[userID]
	now := s.config.Now()
	switch {
	case st.Banned:
		return problem.New(problem.Forbidden, "banned", "this user is banned from the channel")
	case st.Muted:
		return problem.New(problem.Forbidden, "muted", "this user is muted in the channel")
	case st.TimedOutUntil != nil && now.Before(*st.TimedOutUntil):
		return problem.New(problem.Forbidden, "timed_out", "this user can't write for another %d seconds", seconds(st.TimedOutUntil.Sub(now)))
	}
	return nil
}
