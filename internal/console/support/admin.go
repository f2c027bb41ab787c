package support

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/platform"
	"showfloor/internal/outflow/event"
)

// Filter narrows the admins' list; nil is no filter.
type Filter struct{ Status, Priority, TenantID *string }

// ListAdminTickets returns a part of the tickets that match, newest first, and the number of all that match.
func (s *Service) ListAdminTickets(ctx context.Context, f Filter, skip int64, maxRows int32) (list []Detail, total int64, err error) {
	q := db.New(postgres.Planned{Pool: s.config.Pool})
	if f.TenantID != nil {
		total, err = q.CountTicketsOfTenant(ctx, db.CountTicketsOfTenantParams{TenantID: *f.TenantID, Status: f.Status, Priority: f.Priority})
	} else {
		total, err = q.CountAdminTickets(ctx, db.CountAdminTicketsParams{Status: f.Status, Priority: f.Priority})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("count tickets: %w", err)
	}
	rows, err := q.ListAdminTickets(ctx, db.ListAdminTicketsParams{
		Status: f.Status, Priority: f.Priority, TenantID: f.TenantID, MaxRows: maxRows, Skip: skip,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list tickets: %w", err)
	}
	for _, r := range rows {
		list = append(list, Detail{Ticket: r.Ticket, TenantName: r.TenantName})
	}
	return list, total, nil
}

// CountOpenTickets returns the number of all tenants' tickets that are OPEN or PENDING.
func (s *Service) CountOpenTickets(ctx context.Context) (total int64, err error) {
	for _, status := range []string{Open, Pending} {
		n, err := db.New(s.config.Pool).CountAdminTickets(ctx, db.CountAdminTicketsParams{Status: &status})
		if err != nil {
			return 0, fmt.Errorf("count tickets: %w", err)
		}
		total += n
	}
	return total, nil
}

// GetAdminTicket returns a ticket with its messages and internal notes.
func (s *Service) GetAdminTicket(ctx context.Context, ticketID string) (Detail, error) {
	row, err := db.New(s.config.Pool).GetAdminTicket(ctx, ticketID)
	if err != nil {
		return Detail{}, missing(err)
	}
	return s.detail(ctx, row.Ticket, row.TenantName, true)
}

// Patch holds changes of a ticket; nil changes nothing.
type Patch struct {
	Status, Priority *string
	Tags             *[]string
	// Assign changes the assignee to Assignee; nil is none.
	Assign   bool
	Assignee *string
	IfMatch  etag.Match
}

func (p Patch) apply(k db.Ticket) db.Ticket {
	if p.Priority != nil {
		k.Priority = *p.Priority
	}
	if p.Tags != nil {
		k.Tags = cleanTags(*p.Tags)
	}
	if p.Assign {
		k.AssigneeID = p.Assignee
	}
	return k
}

// UpdateAdminTicket changes a ticket. Without a change it writes nothing.
func (s *Service) UpdateAdminTicket(ctx context.Context, c platform.Caller, ticketID string, p Patch) (Detail, error) {
	return s.changeAny(ctx, c, ticketID, "ticket.update", func(tx pgx.Tx, m mailing, before db.Ticket) (db.Ticket, error) {
		if err := etag.Check(p.IfMatch, before); err != nil {
			return before, err
		}
		now := s.config.Now()
		next := p.apply(before)
		if p.Status != nil {
			next = withStatus(next, *p.Status, now)
		}
		if reflect.DeepEqual(before, next) {
			return before, nil
		}
		if p.Assign && p.Assignee != nil {
			if err := checkAdmin(ctx, tx, *p.Assignee); err != nil {
				return before, err
			}
		}
		next.UpdatedAt = now
		after, err := s.saveTx(ctx, tx, before, next)
		if err != nil || after.Status != Resolved || before.Status == Resolved {
			return after, err
		}
		const resolved = "the support marked your ticket as resolved. A message of yours opens it again."
		return after, s.mailRequesterTx(ctx, tx, m, after, resolved, posted{})
	})
}

// checkAdmin refuses an assignee that is not an admin.
func checkAdmin(ctx context.Context, tx pgx.Tx, adminID string) error {
	_, err := db.New(tx).GetAdmin(ctx, adminID)
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.BadField("assigneeId", "is not the id of an admin")
	}
	if err != nil {
		return fmt.Errorf("get admin: %w", err)
	}
	return nil
}

// Reply is an admin's message. Status is the ticket's next status; nil for PENDING.
type Reply struct {
	Message

	Internal bool
	Status   *string
}

// ReplyToTicket adds an admin's answer, or an internal note.
func (s *Service) ReplyToTicket(ctx context.Context, c platform.Caller, ticketID string, r Reply) (Detail, error) {
	return s.changeAny(ctx, c, ticketID, "ticket.reply", func(tx pgx.Tx, m mailing, k db.Ticket) (db.Ticket, error) {
		if err := mayWrite(k, r.Internal); err != nil {
			return k, err
		}
		admin, err := db.New(tx).GetAdmin(ctx, c.AdminID)
		if err != nil {
			return k, fmt.Errorf("get admin: %w", err)
		}
		k, row, err := s.writeTx(ctx, tx, k, message{r.Message, author{byAdmin, c.AdminID}, admin.Email, r.Internal, r.Status})
		if err != nil || r.Internal {
			return k, err
		}
		err = s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: k.TenantID, Name: event.TicketReplied, Subject: k.ID, Data: eventdata.TicketRepliedData{
				TicketID: k.ID, Number: k.Number, Subject: k.Subject, Status: eventdata.TicketStatus(k.Status), MessageID: row.ID, Body: row.Body,
				Attachments: eventFiles(row.Files),
			},
		})
		if err != nil {
			return k, err
		}
		return k, s.mailRequesterTx(ctx, tx, m, k, "the support answered your ticket:", row)
	})
}

// eventFiles returns the files of an answer for its event.
func eventFiles(files []db.TicketAttachment) []eventdata.TicketAttachment {
	list := make([]eventdata.TicketAttachment, len(files))
	for i, f := range files {
		list[i] = eventdata.TicketAttachment{
			ID: f.ID, Name: f.Name, ContentType: f.ContentType, SizeBytes: f.SizeBytes, CreatedAt: timestamp.From(f.CreatedAt),
		}
	}
	return list
}

// changeAny changes a locked ticket of any tenant and writes the audit entry.
func (s *Service) changeAny(
	ctx context.Context, c platform.Caller, ticketID, action string, change func(tx pgx.Tx, m mailing, k db.Ticket) (db.Ticket, error),
) (Detail, error) {
	m, err := s.mailing(ctx)
	if err != nil {
		return Detail{}, err
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		before, err := db.New(tx).LockAdminTicket(ctx, ticketID)
		if err != nil {
			return missing(err)
		}
		after, err := change(tx, m, before)
		if err != nil {
			return err
		}
		return auditTx(ctx, tx, s.config.Now(), c.Actor(), action, before, after)
	})
	if err != nil {
		return Detail{}, err
	}
	return s.GetAdminTicket(ctx, ticketID)
}
