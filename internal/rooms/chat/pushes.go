package chat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/push"
)

const (
	// longestPush is the maximum length of a push's text in characters, including the
	// author's name.
	longestPush = 200
	// pushedFor is how long after its message a push expires.
	pushedFor = 24 * time.Hour
)

// messagePush is a message about which users receive a push.
type messagePush struct {
	message db.ChannelMessage
	reason  push.Reason
	userIDs []string
}

// pushesOf returns the pushes for new messages: in a direct channel to the other
// member, elsewhere to the mentioned users, never to the author.
func pushesOf(ch channel, messages []db.ChannelMessage) (list []messagePush) {
	for _, m := range messages {
		p := messagePush{m, push.Mention, m.Mentions}
		if ch.Kind == Direct {
			p.reason, p.userIDs = push.DirectMessage, ch.DirectUserIds
		}
		p.userIDs = without(p.userIDs, m.AuthorID)
		if len(p.userIDs) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// without returns the users except one.
func without(userIDs []string, userID string) []string {
	return slices.DeleteFunc(slices.Clone(userIDs), func(one string) bool { return one == userID })
}

// push enqueues pushes with one insertion, in the transaction that writes their
// messages. Users who may not read the channel get no push.
func (s *Service) push(ctx context.Context, tx pgx.Tx, ch channel, pushes []messagePush) error {
	if len(pushes) == 0 {
		return nil
	}
	q := db.New(tx)
	var users []string
	for _, p := range pushes {
		users = append(users, p.userIDs...)
	}
	all, err := userStatuses(ctx, q, channelKey{ch.TenantID, ch.ID}, users...)
	if err != nil {
		return err
	}
	title, projectID, err := titleOf(ctx, q, ch)
	if err != nil {
		return err
	}
	data := map[string]string{"service": "1", "channelId": ch.ID}
	if projectID != nil {
		data["projectId"] = *projectID
	}
	var jobs []river.InsertManyParams
	for _, p := range pushes {
		for _, userID := range p.userIDs {
			if checkReader(ch.DirectUserIds, all[userID]) != nil {
				continue
			}
			jobs = append(jobs, river.InsertManyParams{Args: push.Args{
				TenantID: ch.TenantID, ProjectID: projectID, UserID: userID, Reason: p.reason, Title: title, Body: pushBody(p.message),
				Data: data, Priority: push.Normal, ExpiresAt: timestamp.From(ch.Now.Add(pushedFor)), MessageID: p.message.ID,
			}})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("insert pushes: %w", err)
	}
	return nil
}

// titleOf is a channel's name and project; for a room's channel, those of the
// session or stream.
func titleOf(ctx context.Context, q *db.Queries, ch channel) (title string, projectID *string, err error) {
	switch {
	case ch.Kind == Session:
		return ch.SessionName, ch.SessionProjectID, nil
	case ch.Kind == Stream:
		st, err := q.GetStreamForPlayback(ctx, ch.ID)
		if err != nil {
			return "", nil, fmt.Errorf("get the channel's stream: %w", err)
		}
		return st.Name, st.ProjectID, nil
	case ch.Name != nil:
		title = *ch.Name
	}
	return title, ch.ProjectID, nil
}

// pushBody is "<author>: <message>", cut off after longestPush characters.
func pushBody(m db.ChannelMessage) string {
	text := m.AuthorName + ": " + *m.Body
	characters := 0
	for at := range text {
		if characters == longestPush {
			return text[:at]
		}
		characters++
	}
	return text
}
