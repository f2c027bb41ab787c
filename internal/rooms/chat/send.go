package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
)

// Input is a message to post; the handler has checked its limits.
type Input struct {
	Body, AuthorID, AuthorName string
	// ParentID is the message that it replies to; nil for none.
	ParentID *string
	Mentions []string
	// Attachments is a JSON list; nil for none.
	Attachments json.RawMessage
}

// outgoing is a message that waits to be written.
type outgoing struct {
	caller tenancy.Caller
	// what names the channel in the caller's problems: "channel" or "stream".
	what string
	in   Input
	// hook belongs to the request that sent the message; nil for none.
	hook postgres.Hook
	// request counts the bytes that the request stores; nil for none. written holds
	// the bytes that the last transaction wrote for this message.
	request, written *stored.Counter
	// messageID is assigned when the message is first accepted.
	messageID string
	// unsure: a transaction that wrote the message failed, perhaps at its commit, so
	// the message may be stored anyway.
	unsure bool
	// failed is when a transaction with it first failed; zero for never.
	failed time.Time
}

// sendResult is the result of a request to send: a message, or the problem with it.
type sendResult struct {
	message db.ChannelMessage
	problem error
}

// SendStreamMessage posts a message in a stream's chat.
func (s *Service) SendStreamMessage(ctx context.Context, c tenancy.Caller, streamID string, in Input) (db.ChannelMessage, error) {
	if !id.Stream.Matches(streamID) {
		return db.ChannelMessage{}, problem.Missing("stream")
	}
	return s.send(ctx, c, "stream", streamID, in)
}

// SendChannelMessage posts a message. Messages to one channel are written in the
// order of their arrival; those that arrive during a transaction share the next
// one.
func (s *Service) SendChannelMessage(ctx context.Context, c tenancy.Caller, channelID string, in Input) (db.ChannelMessage, error) {
	return s.send(ctx, c, "channel", channelID, in)
}

// send posts a message. what is "channel" or "stream", as the caller names it.
func (s *Service) send(ctx context.Context, c tenancy.Caller, what, channelID string, in Input) (db.ChannelMessage, error) {
	err := s.checkRoom(ctx, c, channelID)
	if problem.Is(err, "not_found") {
		err = problem.Missing(what)
	}
	if err != nil {
		return db.ChannelMessage{}, err
	}
	if err := checkUser(c, "authorId", in.AuthorID); err != nil {
		return db.ChannelMessage{}, err
	}
	in.Mentions = distinct(in.Mentions)
	// Without cancellation: if the caller disconnects, the message is posted all the
	// same, and the Idempotency-Key must not be released meanwhile.
	v, err := s.sends.Do(context.WithoutCancel(ctx), channelKey{c.TenantID, channelID},
		&outgoing{caller: c, what: what, in: in, hook: postgres.HookFrom(ctx), request: stored.From(ctx)})
	if err != nil {
		return db.ChannelMessage{}, err
	}
	return v.message, v.problem
}

// retryWithin is how long after a failed transaction of several messages each one
// is still retried by itself, one after the other. The database may be down for
// longer than any caller waits.
const retryWithin = 10 * time.Second

var errTooLate = errors.New("the message's transaction failed, and the next try would be too late")

// errNothing rolls back a batch that accepted no message.
var errNothing = errors.New("no message was accepted")

// sendBatch holds one transaction's messages. It is also the hook of the requests
// whose messages it accepts.
type sendBatch struct {
	postgres.Hooks

	channel  channel
	statuses map[string]userStatus
	// parents are the messages in this channel that they reply to.
	parents  map[string]bool
	results  []sendResult
	accepted []*outgoing
	messages []db.ChannelMessage
	// late reports that a message is published that an earlier transaction had stored,
	// whose commit got no answer.
	late bool
	// wrote are the authors whose slow mode waiting time starts again.
	wrote []string
}

// decideMessages accepts or refuses each message, in their order. An error applies
// to all.
func (s *Service) decideMessages(ctx context.Context, key channelKey, list []*outgoing) ([]sendResult, error) {
	release, err := s.order.Take(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	if l := list[0]; len(list) == 1 && !l.failed.IsZero() && time.Since(l.failed) > retryWithin {
		return nil, errTooLate
	}
	var r sendBatch
	err = postgres.InTx(postgres.WithHook(ctx, &r), s.config.Pool, func(tx pgx.Tx) error {
		r = sendBatch{results: make([]sendResult, len(list))}
		return s.decideLocked(ctx, tx, key, list, &r)
	})
	if err != nil && !errors.Is(err, errNothing) {
		for _, l := range r.accepted {
			l.unsure = true
		}
		for _, l := range list {
			l.failed = time.Now()
		}
		return nil, err
	}
	for i, l := range list {
		if r.results[i].problem == nil {
			l.request.Add(int(l.written.Bytes()))
		}
	}
	return r.results, nil
}

// decideLocked decides the messages under the channel's lock.
func (s *Service) decideLocked(ctx context.Context, tx pgx.Tx, key channelKey, list []*outgoing, r *sendBatch) error {
	ch, err := lock(ctx, tx, key)
	if _, missing := problem.As(err); missing {
		for i, l := range list {
			r.results[i].problem = problem.Missing(l.what)
		}
		return errNothing
	}
	if err != nil {
		return err
	}
	r.channel = ch
	if err := r.gather(ctx, db.New(tx), key, list); err != nil {
		return err
	}
	for i, l := range list {
		if r.results[i], err = s.judge(ctx, tx, key, r, l); err != nil {
			return err
		}
	}
	switch {
	case len(r.messages) > 0:
		return s.write(ctx, tx, key, r)
	case r.late:
		return nil // commit without a change, because only a commit publishes
	default:
		return errNothing
	}
}

// gather reads what judge needs for all messages.
func (r *sendBatch) gather(ctx context.Context, q *db.Queries, key channelKey, list []*outgoing) error {
	var authors, parents []string
	for _, l := range list {
		authors = append(authors, l.in.AuthorID)
		if l.in.ParentID != nil {
			parents = append(parents, *l.in.ParentID)
		}
	}
	var err error
	if r.statuses, err = userStatuses(ctx, q, key, authors...); err != nil || parents == nil {
		return err
	}
	found, err := q.FindMessages(ctx, db.FindMessagesParams{TenantID: key.tenantID, ChannelID: key.channelID, Ids: distinct(parents)})
	if err != nil {
		return fmt.Errorf("find answered messages: %w", err)
	}
	r.parents = make(map[string]bool, len(found))
	for _, messageID := range found {
		r.parents[messageID] = true
	}
	return nil
}

// judge checks one message. If it is accepted, judge adds it to the batch and has the
// message published.
func (s *Service) judge(ctx context.Context, tx pgx.Tx, key channelKey, r *sendBatch, l *outgoing) (v sendResult, err error) {
	if l.unsure {
		m, err := db.New(tx).GetMessage(ctx, db.GetMessageParams{TenantID: r.channel.TenantID, ChannelID: r.channel.ID, ID: l.messageID})
		if err == nil {
			if m.Body != nil {
				r.late = true
				s.publish(ctx, tx, key, realtime.ChatMessage, dataOf(m))
			}
			return sendResult{message: m}, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return v, fmt.Errorf("get message: %w", err)
		}
	}
	st := r.statuses[l.in.AuthorID]
	if v.problem = r.check(l, st); v.problem != nil {
		return v, nil //nolint:nilerr // the result holds it
	}
	if paced(r.channel, st) {
		st.WroteAt = &r.channel.Now
		r.statuses[l.in.AuthorID] = st
		r.wrote = append(r.wrote, l.in.AuthorID)
	}
	v.message = r.add(l, st)
	s.publish(ctx, tx, key, realtime.ChatMessage, dataOf(v.message))
	return v, nil
}

func (r *sendBatch) check(l *outgoing, st userStatus) error {
	if err := checkParticipant(l.caller, r.channel.DirectUserIds, st); err != nil {
		return err
	}
	if err := checkAuthor(r.channel, st); err != nil {
		return err
	}
	if l.in.ParentID != nil && !r.parents[*l.in.ParentID] {
		return problem.Missing("message")
	}
	return checkPace(r.channel, st)
}

// add creates the message and makes it the channel's last one.
func (r *sendBatch) add(l *outgoing, st userStatus) db.ChannelMessage {
	last := ""
	if r.channel.LastMessageID != nil {
		last = *r.channel.LastMessageID
	}
	l.messageID = id.After(id.Message, last)
	m := db.ChannelMessage{
		ID: l.messageID, ChannelID: r.channel.ID, TenantID: r.channel.TenantID, AuthorID: l.in.AuthorID, AuthorName: l.in.AuthorName,
		Body: &l.in.Body, ParentID: l.in.ParentID, Mentions: l.in.Mentions, Attachments: l.in.Attachments,
		CreatedAt: timeAfter(r.channel.LastMessageAt, r.channel.Now),
	}
	if l.caller.Participant != nil && st.DisplayName != nil {
		m.AuthorName = *st.DisplayName // a participant can't use another user's name
	}
	l.written = new(stored.Counter)
	r.channel.LastMessageID, r.channel.LastMessageAt = &m.ID, &m.CreatedAt
	r.Add(l.hook)
	r.accepted, r.messages = append(r.accepted, l), append(r.messages, m)
	return m
}

// write stores a batch's messages, the resulting change of the channel, and the
// messages' events and pushes.
func (s *Service) write(ctx context.Context, tx pgx.Tx, key channelKey, r *sendBatch) error {
	q := db.New(tx)
	p := db.CreateMessagesParams{
		TenantID: key.tenantID, ChannelID: key.channelID, LastMessageID: *r.channel.LastMessageID, LastMessageAt: *r.channel.LastMessageAt,
	}
	events := make([]event.Event, len(r.messages))
	for i, m := range r.messages {
		mentions, err := json.Marshal(m.Mentions)
		if err != nil {
			return fmt.Errorf("encode mentions: %w", err)
		}
		parent := ""
		if m.ParentID != nil {
			parent = *m.ParentID
		}
		p.Ids, p.AuthorIds, p.AuthorNames = append(p.Ids, m.ID), append(p.AuthorIds, m.AuthorID), append(p.AuthorNames, m.AuthorName)
		p.Bodies, p.ParentIds, p.CreatedAts = append(p.Bodies, *m.Body), append(p.ParentIds, parent), append(p.CreatedAts, m.CreatedAt)
		p.Mentions, p.Attachments = append(p.Mentions, string(mentions)), append(p.Attachments, string(m.Attachments))
		events[i] = newEvent(key, event.ChatMessageCreated, dataOf(m))
		events[i].Stored = r.accepted[i].written
	}
	if err := q.CreateMessages(ctx, p); err != nil {
		return fmt.Errorf("create messages: %w", err)
	}
	if len(r.wrote) > 0 {
		err := q.SetWrote(ctx, db.SetWroteParams{
			ChannelID: key.channelID, TenantID: key.tenantID, Now: r.channel.Now, UserIds: distinct(r.wrote),
		})
		if err != nil {
			return fmt.Errorf("set when authors wrote: %w", err)
		}
	}
	if err := s.config.Events.EmitManyTx(ctx, tx, events); err != nil {
		return err
	}
	return s.push(ctx, tx, r.channel, pushesOf(r.channel, r.messages))
}
