package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/realtime"
	"showfloor/internal/stored"
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

// letter is a message that waits to be written.
type letter struct {
	caller account.Caller
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

// verdict is the result of a letter: a message, or the problem with it.
type verdict struct {
	message db.ChannelMessage
	problem error
}

// SendStreamMessage posts a message in a stream's chat.
func (s *Service) SendStreamMessage(ctx context.Context, c account.Caller, streamID string, in Input) (db.ChannelMessage, error) {
	if !id.Stream.Matches(streamID) {
		return db.ChannelMessage{}, problem.Missing("stream")
	}
	return s.send(ctx, c, "stream", streamID, in)
}

// SendChannelMessage posts a message. Messages to one channel are written in the
// order of their arrival; those that arrive during a transaction share the next
// one.
func (s *Service) SendChannelMessage(ctx context.Context, c account.Caller, channelID string, in Input) (db.ChannelMessage, error) {
	return s.send(ctx, c, "channel", channelID, in)
}

// send posts a message. what says whether the caller names a channel or a stream.
func (s *Service) send(ctx context.Context, c account.Caller, what, channelID string, in Input) (db.ChannelMessage, error) {
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
	v, err := s.lanes.Do(context.WithoutCancel(ctx), lane{c.TenantID, channelID},
		&letter{caller: c, what: what, in: in, hook: postgres.HookFrom(ctx), request: stored.From(ctx)})
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

// errNothing rolls back a round that accepted no message.
var errNothing = errors.New("no message was taken")

// round holds one transaction's messages. It is also the hook of the requests
// whose messages it accepts.
type round struct {
	postgres.Hooks

	channel   channel
	standings map[string]standing
	// parents are the messages in this channel that the letters reply to.
	parents  map[string]bool
	verdicts []verdict
	taken    []*letter
	messages []db.ChannelMessage
	// unseen are the messages to publish: new ones, and ones that an earlier failed
	// transaction had stored.
	unseen []db.ChannelMessage
	// wrote are the authors whose slow mode waiting time starts again.
	wrote []string
}

// decide accepts or refuses each letter, in their order. An error applies to all
// letters.
func (s *Service) decide(ctx context.Context, key lane, letters []*letter) ([]verdict, error) {
	defer s.order.Hold(key)()
	if l := letters[0]; len(letters) == 1 && !l.failed.IsZero() && time.Since(l.failed) > retryWithin {
		return nil, errTooLate
	}
	var r round
	err := postgres.InTx(postgres.WithHook(ctx, &r), s.config.Pool, func(tx pgx.Tx) error {
		r = round{verdicts: make([]verdict, len(letters))}
		return s.take(ctx, tx, key, letters, &r)
	})
	if err != nil && !errors.Is(err, errNothing) {
		for _, l := range r.taken {
			l.unsure = true
		}
		for _, l := range letters {
			l.failed = time.Now()
		}
		return nil, err
	}
	for i, l := range letters {
		if r.verdicts[i].problem == nil {
			l.request.Add(int(l.written.Bytes()))
		}
	}
	for _, m := range r.unseen {
		s.show(ctx, key, realtime.ChatMessage, dataOf(m))
	}
	return r.verdicts, nil
}

// take decides the letters under the channel's lock.
func (s *Service) take(ctx context.Context, tx pgx.Tx, key lane, letters []*letter, r *round) error {
	ch, err := lock(ctx, tx, key)
	if _, missing := problem.As(err); missing {
		for i, l := range letters {
			r.verdicts[i].problem = problem.Missing(l.what)
		}
		return errNothing
	}
	if err != nil {
		return err
	}
	r.channel = ch
	if err := r.gather(ctx, db.New(tx), key, letters); err != nil {
		return err
	}
	for i, l := range letters {
		if r.verdicts[i], err = r.judge(ctx, tx, l); err != nil {
			return err
		}
	}
	if len(r.messages) == 0 {
		return errNothing
	}
	return s.write(ctx, tx, key, r)
}

// gather reads what judge needs for all letters.
func (r *round) gather(ctx context.Context, q *db.Queries, key lane, letters []*letter) error {
	var authors, parents []string
	for _, l := range letters {
		authors = append(authors, l.in.AuthorID)
		if l.in.ParentID != nil {
			parents = append(parents, *l.in.ParentID)
		}
	}
	var err error
	if r.standings, err = standings(ctx, q, key, authors...); err != nil || parents == nil {
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

// judge checks one letter and adds it to the round if it is accepted.
func (r *round) judge(ctx context.Context, tx pgx.Tx, l *letter) (v verdict, err error) {
	if l.unsure {
		m, err := db.New(tx).GetMessage(ctx, db.GetMessageParams{TenantID: r.channel.TenantID, ChannelID: r.channel.ID, ID: l.messageID})
		if err == nil {
			if m.Body != nil {
				r.unseen = append(r.unseen, m)
			}
			return verdict{message: m}, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return v, fmt.Errorf("get message: %w", err)
		}
	}
	st := r.standings[l.in.AuthorID]
	if v.problem = r.check(l, st); v.problem != nil {
		return v, nil //nolint:nilerr // the verdict holds it
	}
	if paced(r.channel, st) {
		st.WroteAt = &r.channel.Now
		r.standings[l.in.AuthorID] = st
		r.wrote = append(r.wrote, l.in.AuthorID)
	}
	v.message = r.add(l, st)
	return v, nil
}

func (r *round) check(l *letter, st standing) error {
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
func (r *round) add(l *letter, st standing) db.ChannelMessage {
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
	r.taken, r.messages, r.unseen = append(r.taken, l), append(r.messages, m), append(r.unseen, m)
	return m
}

// write stores a round's messages, the resulting change of the channel, and the
// messages' events and pushes.
func (s *Service) write(ctx context.Context, tx pgx.Tx, key lane, r *round) error {
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
		events[i] = happened(key, event.ChatMessageCreated, dataOf(m))
		events[i].Stored = r.taken[i].written
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
	if err := s.config.Events.EmitMany(ctx, tx, events); err != nil {
		return err
	}
	return s.push(ctx, tx, r.channel, pingsOf(r.channel, r.messages))
}
