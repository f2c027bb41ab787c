package support

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// Detail is a ticket with its last messages, the oldest first.
type Detail struct {
	db.Ticket
	// TenantName is set for admins.
	TenantName string
	Messages   []db.TicketMessage
	// Files are the messages' files by the ids of the messages.
	Files map[string][]db.TicketAttachment
}

// messageBytes is the size of a message without its text, in bytes.
const messageBytes = 256

// ListTickets returns the caller's tenant's tickets, newest first.
func (s *Service) ListTickets(ctx context.Context, c tenancy.Caller, cursor *string, maxRows int32) ([]db.Ticket, error) {
	rows, err := db.New(s.config.Pool).ListTickets(ctx, db.ListTicketsParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: maxRows})
	if err != nil {
		return nil, fmt.Errorf("list tickets: %w", err)
	}
	return rows, nil
}

// GetTicket returns a ticket of the caller's tenant, without internal notes.
func (s *Service) GetTicket(ctx context.Context, c tenancy.Caller, ticketID string) (Detail, error) {
	k, err := db.New(s.config.Pool).GetTicket(ctx, db.GetTicketParams{TenantID: c.TenantID, ID: ticketID})
	if err != nil {
		return Detail{}, missing(err)
	}
	return s.detail(ctx, k, "", false)
}

func missing(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.Missing("ticket")
	}
	return fmt.Errorf("get ticket: %w", err)
}

func (s *Service) detail(ctx context.Context, k db.Ticket, tenantName string, internal bool) (Detail, error) {
	rows, err := db.New(s.config.Pool).ListTicketMessages(ctx, db.ListTicketMessagesParams{
		TenantID: k.TenantID, TicketID: k.ID, Internal: internal, MaxRows: shownMessages,
	})
	if err != nil {
		return Detail{}, fmt.Errorf("list ticket messages: %w", err)
	}
	slices.Reverse(rows)
	files, err := s.attachments(ctx, k.TenantID, rows)
	if err != nil {
		return Detail{}, err
	}
	return Detail{k, tenantName, rows, files}, nil
}

// NewTicket is a ticket to be created.
type NewTicket struct {
	Subject, Priority string
	Message
}

// Message is a text with the ids of uploaded files.
type Message struct {
	Body          string
	AttachmentIDs []string
}

// CreateTicket creates a ticket with its first message.
func (s *Service) CreateTicket(ctx context.Context, c tenancy.Caller, n NewTicket) (Detail, error) {
	u, err := s.config.Accounts.GetCurrentUser(ctx, c)
	if err != nil {
		return Detail{}, err
	}
	mails, err := s.mailing(ctx)
	if err != nil {
		return Detail{}, err
	}
	var k db.Ticket
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		if err := q.LockTickets(ctx, c.TenantID); err != nil {
			return fmt.Errorf("lock tickets: %w", err)
		}
		counts, err := q.CountUnfinishedTickets(ctx, db.CountUnfinishedTicketsParams{TenantID: c.TenantID, Since: now.Add(-24 * time.Hour)})
		if err != nil {
			return fmt.Errorf("count tickets: %w", err)
		}
		if err := mayCreate(counts.Unfinished, counts.Recent); err != nil {
			return err
		}
		k, err = q.CreateTicket(ctx, db.CreateTicketParams{
			ID: id.New(id.Ticket), TenantID: c.TenantID, Subject: n.Subject, Priority: n.Priority, RequesterID: &c.UserID,
			RequesterName: u.Name, RequesterEmail: u.Email, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create ticket: %w", err)
		}
		stored.Add(ctx, messageBytes+len(n.Subject))
		before := k
		var row posted
		if k, row, err = s.writeTx(ctx, tx, k, message{n.Message, author{byTenant, c.UserID}, u.Name, false, nil}); err != nil {
			return err
		}
		if err := s.mailSupportTx(ctx, tx, mails, k, row); err != nil {
			return err
		}
		return auditTx(ctx, tx, now, c.Actor(), "ticket.create", before, k)
	})
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, k, "", false)
}

// AddTicketMessage adds a message of the tenant, which opens the ticket again.
func (s *Service) AddTicketMessage(ctx context.Context, c tenancy.Caller, ticketID string, m Message) (Detail, error) {
	u, err := s.config.Accounts.GetCurrentUser(ctx, c)
	if err != nil {
		return Detail{}, err
	}
	mails, err := s.mailing(ctx)
	if err != nil {
		return Detail{}, err
	}
	return s.changeOwn(ctx, c, ticketID, "ticket.reply", func(tx pgx.Tx, k db.Ticket) (db.Ticket, error) {
		if err := mayWrite(k, false); err != nil {
			return k, err
		}
		k, row, err := s.writeTx(ctx, tx, k, message{m, author{byTenant, c.UserID}, u.Name, false, nil})
		if err != nil {
			return k, err
		}
		return k, s.mailSupportTx(ctx, tx, mails, k, row)
	})
}

// CloseTicket closes a ticket of the tenant. Closing a CLOSED ticket has no effect.
func (s *Service) CloseTicket(ctx context.Context, c tenancy.Caller, ticketID string) (Detail, error) {
	return s.changeOwn(ctx, c, ticketID, "ticket.close", func(tx pgx.Tx, k db.Ticket) (db.Ticket, error) {
		if k.Status == Closed {
			return k, nil
		}
		now := s.config.Now()
		next := withStatus(k, Closed, now)
		next.UpdatedAt = now
		return s.saveTx(ctx, tx, k, next)
	})
}

// changeOwn changes a locked ticket of the caller's tenant and writes the audit entry. Without a change it writes nothing.
func (s *Service) changeOwn(
	ctx context.Context, c tenancy.Caller, ticketID, action string, change func(tx pgx.Tx, k db.Ticket) (db.Ticket, error),
) (Detail, error) {
	var after db.Ticket
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		before, err := db.New(tx).LockTicket(ctx, db.LockTicketParams{TenantID: c.TenantID, ID: ticketID})
		if err != nil {
			return missing(err)
		}
		if after, err = change(tx, before); err != nil {
			return err
		}
		return auditTx(ctx, tx, s.config.Now(), c.Actor(), action, before, after)
	})
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, after, "", false)
}

// message is a message to be written. status is the ticket's next status; nil for the default.
type message struct {
	Message

	author     author
	authorName string
	internal   bool
	status     *string
}

// posted is a message with its files.
type posted struct {
	db.TicketMessage

	Files []db.TicketAttachment
}

// writeTx writes a message to a locked ticket, and what follows from it.
func (s *Service) writeTx(ctx context.Context, tx pgx.Tx, k db.Ticket, m message) (_ db.Ticket, row posted, err error) {
	now := s.config.Now()
	row.TicketMessage, err = db.New(tx).CreateTicketMessage(ctx, db.CreateTicketMessageParams{
		ID: id.New(id.TicketMessage), TenantID: k.TenantID, TicketID: k.ID, AuthorType: m.author.kind, AuthorID: &m.author.id,
		AuthorName: m.authorName, Body: m.Body, Internal: m.internal, Now: now,
	})
	if err != nil {
		return k, row, fmt.Errorf("create ticket message: %w", err)
	}
	if row.Files, err = attachTx(ctx, tx, now, row.TicketMessage, m.author, m.AttachmentIDs); err != nil {
		return k, row, err
	}
	if m.author.kind == byTenant {
		stored.Add(ctx, messageBytes+len(m.Body))
	}
	next := written(k, m.author, m.internal, m.status, now)
	next.UpdatedAt = now
	k, err = s.saveTx(ctx, tx, k, next)
	return k, row, err
}

// saveTx stores a locked ticket, and emits the event of another status.
func (s *Service) saveTx(ctx context.Context, tx pgx.Tx, before, k db.Ticket) (db.Ticket, error) {
	after, err := db.New(tx).SaveTicket(ctx, db.SaveTicketParams{
		TenantID: k.TenantID, ID: k.ID, Status: k.Status, Priority: k.Priority, Tags: k.Tags, AssigneeID: k.AssigneeID,
		MessageCount: k.MessageCount, PublicCount: k.PublicCount, LastMessageAt: k.LastMessageAt, FirstReplyAt: k.FirstReplyAt,
		ResolvedAt: k.ResolvedAt, ClosedAt: k.ClosedAt,
		UpdatedAt: k.UpdatedAt,
	})
	if err != nil {
		return k, fmt.Errorf("save ticket: %w", err)
	}
	if before.Status == after.Status {
		return after, nil
	}
	return after, s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: k.TenantID, Name: event.TicketStatusChanged, Subject: k.ID, Data: eventdata.TicketStatusChangedData{
			TicketID: k.ID, Number: k.Number, Subject: k.Subject, Status: eventdata.TicketStatus(after.Status),
			PreviousStatus: eventdata.TicketStatus(before.Status),
		},
	})
}

// view is a ticket in the audit log.
func view(k db.Ticket) map[string]any {
	return map[string]any{
		"status": k.Status, "priority": k.Priority, "tags": k.Tags, "assigneeId": k.AssigneeID, "messageCount": k.MessageCount,
	}
}

// auditTx writes the audit entry of a change. It writes nothing if the ticket is the same.
func auditTx(ctx context.Context, tx pgx.Tx, now time.Time, by audit.Actor, action string, before, after db.Ticket) error {
	if reflect.DeepEqual(view(before), view(after)) {
		return nil
	}
	return audit.WriteTx(ctx, db.New(tx), now, audit.Entry{
		Actor: by, TenantID: after.TenantID, Action: action, Entity: "ticket", EntityID: after.ID,
		Before: view(before), After: view(after),
	})
}
