package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
)

// Place is the exclusive start or end of a history page: a message or a time. The
// zero Place means that the page has no such limit.
type Place struct {
	MessageID string
	At        time.Time
}

func (p Place) nowhere() bool { return p == Place{} }

// lastID sorts after the ids of all messages.
const lastID = string(id.Message) + "_zzzzzzzzzzzzzzzzzzzzzzzzzzz"

// ListStreamMessages returns a page of a stream's chat, oldest first, also for a
// stream of another tenant: the first limit messages after since, or the
// newest ones if since is zero.
func (s *Service) ListStreamMessages(ctx context.Context, streamID string, since Place, limit int) ([]db.ChannelMessage, error) {
	q := db.New(s.config.Pool)
	st, err := q.GetStreamForPlayback(ctx, streamID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, problem.Missing("stream")
	}
	if err != nil {
		return nil, fmt.Errorf("get stream: %w", err)
	}
	return history(ctx, q, channelKey{st.TenantID, st.ID}, since, Place{}, limit)
}

// ListChannelMessages returns a page of a channel's history, oldest first: the
// first limit messages after since, or the newest ones if since is zero. If before
// is set, all of them are older than before.
func (s *Service) ListChannelMessages(
	ctx context.Context, c tenancy.Caller, channelID string, since, before Place, limit int,
) ([]db.ChannelMessage, error) {
	if err := s.checkRoom(ctx, c, channelID); err != nil {
		return nil, err
	}
	q, key := db.New(s.config.Pool), channelKey{c.TenantID, channelID}
	found, err := find(ctx, q, key)
	if err != nil {
		return nil, err
	}
	if c.Participant != nil {
		all, err := userStatuses(ctx, q, key, c.Participant.UserID)
		if err != nil {
			return nil, err
		}
		if err := checkParticipant(c, found.DirectUserIds, all[c.Participant.UserID]); err != nil {
			return nil, err
		}
	}
	return history(ctx, q, key, since, before, limit)
}

// history reads a page. It converts times to message ids first, because the order
// of messages is that of their ids.
func history(ctx context.Context, q *db.Queries, key channelKey, since, before Place, limit int) ([]db.ChannelMessage, error) {
	end, err := endOf(ctx, q, key, before)
	if err != nil {
		return nil, err
	}
	if since.nowhere() {
		list, err := q.ListMessagesBefore(ctx, db.ListMessagesBeforeParams{
			TenantID: key.tenantID, ChannelID: key.channelID, Before: end, MaxRows: int32(limit),
		})
		if err != nil {
			return nil, fmt.Errorf("list messages: %w", err)
		}
		slices.Reverse(list)
		return list, nil
	}
	begin, err := beginOf(ctx, q, key, since)
	if err != nil {
		return nil, err
	}
	list, err := q.ListMessagesAfter(ctx, db.ListMessagesAfterParams{
		TenantID: key.tenantID, ChannelID: key.channelID, After: begin, Before: end, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return list, nil
}

// ListKeptMessages returns a page of a channel's messages that were not deleted, oldest first: those written from since on and before
// until, and after the place.
func (s *Service) ListKeptMessages(
	ctx context.Context, tenantID, channelID string, since, until time.Time, after Place, limit int,
) ([]db.ChannelMessage, error) {
	q, key := db.New(s.config.Pool), channelKey{tenantID, channelID}
	begin, err := beginOf(ctx, q, key, Place{At: since.Add(-time.Microsecond)})
	if err != nil {
		return nil, err
	}
	if !after.nowhere() {
		later, err := beginOf(ctx, q, key, after)
		if err != nil {
			return nil, err
		}
		begin = max(begin, later)
	}
	end, err := endOf(ctx, q, key, Place{At: until})
	if err != nil {
		return nil, err
	}
	list, err := q.ListKeptMessages(ctx, db.ListKeptMessagesParams{
		TenantID: tenantID, ChannelID: channelID, After: begin, Before: end, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list kept messages: %w", err)
	}
	return list, nil
}

// endOf is the id of the first message at or after a place; lastID if there is none, or for nowhere.
func endOf(ctx context.Context, q *db.Queries, key channelKey, place Place) (string, error) {
	if place.MessageID != "" || place.nowhere() {
		return cmp.Or(place.MessageID, lastID), nil
	}
	first, err := q.FirstMessageFrom(ctx, db.FirstMessageFromParams{TenantID: key.tenantID, ChannelID: key.channelID, Since: place.At})
	if errors.Is(err, pgx.ErrNoRows) {
		return lastID, nil
	}
	if err != nil {
		return "", fmt.Errorf("find message by time: %w", err)
	}
	return first, nil
}

// beginOf is the id of the last message at or before a place; empty if there is none.
func beginOf(ctx context.Context, q *db.Queries, key channelKey, place Place) (string, error) {
	if place.MessageID != "" {
		return place.MessageID, nil
	}
	last, err := q.LastMessageUntil(ctx, db.LastMessageUntilParams{TenantID: key.tenantID, ChannelID: key.channelID, Until: place.At})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("find message by time: %w", err)
	}
	return last, nil
}

// Patch is the new content of a message.
type Patch struct {
	Body string
	// Mentions stay as they are if nil.
	Mentions []string
}

// EditChannelMessage changes a message's content. A participant may edit its own
// user's messages, as long as the user may write.
func (s *Service) EditChannelMessage(
	ctx context.Context, c tenancy.Caller, channelID, messageID string, p Patch,
) (db.ChannelMessage, error) {
	var edited db.ChannelMessage
	err := s.change(ctx, c, channelID, messageID, func(ctx context.Context, tx pgx.Tx, e lockedChannel, m db.ChannelMessage) (err error) {
		if c.Participant != nil {
			if m.AuthorID != c.Participant.UserID {
				return problem.New(problem.Forbidden, "forbidden", "only the author of a message may edit it")
			}
			if err := checkAuthor(e.channel, e.status); err != nil {
				return err
			}
		}
		if m.RedactedAt != nil {
			return problem.Conflicting("the message is deleted")
		}
		if err := compliance.RefuseHeldTx(ctx, tx, m.TenantID); err != nil { // the former text isn't kept
			return err
		}
		mentions := m.Mentions
		if p.Mentions != nil {
			mentions = distinct(p.Mentions)
		}
		edited, err = db.New(tx).EditMessage(ctx, db.EditMessageParams{
			TenantID: m.TenantID, ChannelID: m.ChannelID, ID: m.ID, Body: p.Body, Mentions: mentions, Now: e.channel.Now,
		})
		if err != nil {
			return fmt.Errorf("edit message: %w", err)
		}
		key, data := channelKey{m.TenantID, m.ChannelID}, editedDataOf(edited)
		s.publish(ctx, tx, key, realtime.ChatEdited, data)
		// No push: repeated edits of one message could otherwise cause any number of
		// notifications.
		return s.config.Events.EmitTx(ctx, tx, newEvent(key, event.ChatMessageEdited, data))
	})
	return edited, err
}

// DeleteChannelMessage erases a message's content. by is the user recorded as
// deleting it, nil for the caller. Deleting again has no effect. A participant may
// delete its own user's messages; a host or cohost may delete any.
func (s *Service) DeleteChannelMessage(
	ctx context.Context, c tenancy.Caller, channelID, messageID string, by *string,
) (db.ChannelMessage, error) {
	who := c.Actor().ID
	if by != nil {
		who = *by
		if err := checkUser(c, "redactedBy", who); err != nil {
			return db.ChannelMessage{}, err
		}
	}
	var deleted db.ChannelMessage
	err := s.change(ctx, c, channelID, messageID, func(ctx context.Context, tx pgx.Tx, e lockedChannel, m db.ChannelMessage) (err error) {
		if c.Participant != nil && m.AuthorID != c.Participant.UserID {
			if err := checkModerator(c, e.channel, e.status); err != nil {
				return err
			}
		}
		if deleted = m; m.RedactedAt != nil {
			return nil
		}
		if err := compliance.RefuseHeldTx(ctx, tx, m.TenantID); err != nil {
			return err
		}
		q := db.New(tx)
		deleted, err = q.RedactMessage(ctx, db.RedactMessageParams{
			TenantID: m.TenantID, ChannelID: m.ChannelID, ID: m.ID, By: who, Now: e.channel.Now,
		})
		if err != nil {
			return fmt.Errorf("redact message: %w", err)
		}
		key := channelKey{m.TenantID, m.ChannelID}
		data := eventdata.ChatMessageDeletedData{ID: deleted.ID, ChannelID: deleted.ChannelID, Redacted: true, RedactedBy: who}
		s.publish(ctx, tx, key, realtime.ChatDeleted, data)
		if err := s.config.Events.EmitTx(ctx, tx, newEvent(key, event.ChatMessageDeleted, data)); err != nil {
			return err
		}
		if who == m.AuthorID {
			return nil
		}
		return audit.WriteTx(ctx, q, s.config.Now(), audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "chat_message.delete", Entity: "chat_message", EntityID: m.ID,
			After: map[string]any{"channelId": m.ChannelID, "authorId": m.AuthorID, "redactedBy": who},
		})
	})
	return deleted, err
}

// change runs a change of a message under its channel's lock, in turn.
func (s *Service) change(ctx context.Context, c tenancy.Caller, channelID, messageID string,
	change func(ctx context.Context, tx pgx.Tx, e lockedChannel, m db.ChannelMessage) error,
) error {
	if err := s.checkRoom(ctx, c, channelID); err != nil {
		return err
	}
	key := channelKey{c.TenantID, channelID}
	return s.inOrder(ctx, key, func(ctx context.Context) error {
		return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			e, err := lockForCaller(ctx, tx, c, key)
			if err != nil {
				return err
			}
			m, err := db.New(tx).GetMessage(ctx, db.GetMessageParams{TenantID: key.tenantID, ChannelID: key.channelID, ID: messageID})
			if errors.Is(err, pgx.ErrNoRows) {
				return problem.Missing("message")
			}
			if err != nil {
				return fmt.Errorf("get message: %w", err)
			}
			return change(ctx, tx, e, m)
		})
	})
}

// lockedChannel is a channel locked for a caller, with the caller's status if it is a
// participant.
type lockedChannel struct {
	channel channel
	status  userStatus
}

// lockForCaller locks a channel for a caller. It refuses a participant who may not read
// there.
func lockForCaller(ctx context.Context, tx pgx.Tx, c tenancy.Caller, key channelKey) (e lockedChannel, err error) {
	if e.channel, err = lock(ctx, tx, key); err != nil || c.Participant == nil {
		return e, err
	}
	all, err := userStatuses(ctx, db.New(tx), key, c.Participant.UserID)
	if err != nil {
		return e, err
	}
	e.status = all[c.Participant.UserID]
	return e, checkParticipant(c, e.channel.DirectUserIds, e.status)
}
