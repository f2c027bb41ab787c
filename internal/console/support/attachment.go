package support

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
)

const (
	// attachWithin is the time after its upload within which a file must be attached to a message.
	attachWithin = 24 * time.Hour
	// keepUnused is the time after which a file without a message is deleted. It is longer than attachWithin, so no message gets a file
	// whose bytes are deleted.
	keepUnused = attachWithin + time.Hour
	// arriving is the time within which an upload that isn't finished counts.
	arriving = 5 * time.Minute
	// deletedAtOnce is the number of files that retention deletes in one transaction.
	deletedAtOnce = 100
	// maxDailyFiles and maxDailyBytes limit the uploads of a tenant's users, and of the admins for a tenant, in 24 hours each.
	maxDailyFiles = 200
	maxDailyBytes = 200 << 20
	// maxTenantBytes limits all files of a tenant's users.
	maxTenantBytes = 2 << 30
	// attachmentBytes is the size of a row, in bytes.
	attachmentBytes = 256
)

// Files are what attachments need of the store of files; see blob.Store.
type Files interface {
	Put(ctx context.Context, key string, r io.Reader, size int64) (blob.Info, error)
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	Delete(ctx context.Context, keys ...string) error
}

// Upload is a file to be stored.
type Upload struct {
	Name string
	Body []byte
}

// author is the user or admin who uploads or attaches a file.
type author struct{ kind, id string }

func fileKey(attachmentID string) string { return "tickets/" + attachmentID }

// UploadAttachment stores a file of the tenant, which a message of the same user can name.
func (s *Service) UploadAttachment(ctx context.Context, c tenancy.Caller, u Upload) (db.TicketAttachment, error) {
	return s.upload(ctx, db.CreateTicketAttachmentParams{TenantID: c.TenantID, AuthorType: byTenant, AuthorID: c.UserID}, u)
}

// UploadAdminAttachment stores a file that an answer of the same admin to the ticket can name.
func (s *Service) UploadAdminAttachment(ctx context.Context, c platform.Caller, ticketID string, u Upload) (db.TicketAttachment, error) {
	row, err := db.New(s.config.Pool).GetAdminTicket(ctx, ticketID)
	if err != nil {
		return db.TicketAttachment{}, missing(err)
	}
	return s.upload(ctx, db.CreateTicketAttachmentParams{
		TenantID: row.Ticket.TenantID, TicketID: &row.Ticket.ID, AuthorType: byAdmin, AuthorID: c.AdminID,
	}, u)
}

// upload reserves the file's place within the limits, stores the bytes, and marks the file as stored. A failed upload counts no
// longer than arriving. Retention deletes its row and its bytes, which may still arrive after the failure.
func (s *Service) upload(ctx context.Context, p db.CreateTicketAttachmentParams, u Upload) (db.TicketAttachment, error) {
	if err := checkUpload(u); err != nil {
		return db.TicketAttachment{}, err
	}
	p.ID, p.Name, p.ContentType, p.SizeBytes = id.New(id.TicketAttachment), u.Name, http.DetectContentType(u.Body), int64(len(u.Body))
	p.Now = s.config.Now()
	var row db.TicketAttachment
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		q := db.New(tx)
		if err := q.LockTickets(ctx, p.TenantID); err != nil {
			return fmt.Errorf("lock tickets: %w", err)
		}
		sums, err := q.SumTicketAttachments(ctx, db.SumTicketAttachmentsParams{
			TenantID: p.TenantID, AuthorType: p.AuthorType, Since: p.Now.Add(-24 * time.Hour), ArrivingSince: p.Now.Add(-arriving),
		})
		if err != nil {
			return fmt.Errorf("sum ticket attachments: %w", err)
		}
		if err := mayUpload(p.AuthorType, p.SizeBytes, sums); err != nil {
			return err
		}
		if row, err = q.CreateTicketAttachment(ctx, p); err != nil {
			return fmt.Errorf("create ticket attachment: %w", err)
		}
		if p.AuthorType == byTenant {
			stored.Add(ctx, attachmentBytes)
		}
		return nil
	})
	if err != nil {
		return row, err
	}
	_, err = s.config.Files.Put(ctx, fileKey(row.ID), bytes.NewReader(u.Body), row.SizeBytes)
	if err == nil {
		_, err = db.New(s.config.Pool).SetTicketAttachmentStored(ctx, db.SetTicketAttachmentStoredParams{
			TenantID: row.TenantID, ID: row.ID, Now: s.config.Now(),
		})
	}
	switch {
	case errors.Is(err, blob.ErrFull):
		return row, problem.New(problem.Unavailable, "disk_full", "the storage of files is full; write without a file")
	case err != nil:
		return row, fmt.Errorf("store the file of a ticket: %w", err)
	}
	return row, nil
}

func checkUpload(u Upload) error {
	if len(u.Body) == 0 {
		return problem.BadField("body", "is empty")
	}
	if strings.TrimSpace(u.Name) == "" || strings.ContainsAny(u.Name, `/\`) || strings.ContainsFunc(u.Name, unprintable) {
		return problem.BadField("name", "must be the name of a file, without slashes and control characters")
	}
	return nil
}

// unprintable reports control and format characters, such as those that reverse the direction of a text and so hide a file's extension.
// Joiners are part of words and emoji.
func unprintable(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r == unicode.ReplacementChar || unicode.Is(unicode.C, r) && r != nonJoiner && r != joiner
}

// mayUpload refuses a file beyond the limits.
func mayUpload(authorType string, size int64, sums db.SumTicketAttachmentsRow) error {
	switch {
	case sums.Recent >= maxDailyFiles:
		return problem.Limited(time.Hour, "at most %d files can be uploaded in 24 hours; try again later", maxDailyFiles)
	case sums.RecentBytes+size > maxDailyBytes:
		return problem.Limited(time.Hour, "at most %d MiB can be uploaded in 24 hours; try again later", maxDailyBytes>>20)
	case authorType == byTenant && sums.Bytes+size > maxTenantBytes:
		return problem.Conflicting("the files of tickets have %d GiB together, which is the maximum; write without a file", maxTenantBytes>>30)
	}
	return nil
}

// attachTx attaches the author's files to a message, or none of them. It returns the files in the order of their uploads.
func attachTx(
	ctx context.Context, tx pgx.Tx, now time.Time, m db.TicketMessage, by author, ids []string,
) ([]db.TicketAttachment, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	attached, err := db.New(tx).AttachToTicketMessage(ctx, db.AttachToTicketMessageParams{
		TenantID: m.TenantID, TicketID: m.TicketID, MessageID: m.ID, Ids: ids, AuthorType: by.kind, AuthorID: by.id,
		Since: now.Add(-attachWithin),
	})
	if err != nil {
		return nil, fmt.Errorf("attach to ticket message: %w", err)
	}
	if len(attached) != len(ids) {
		return nil, problem.BadField("attachmentIds", "must be ids of files that you uploaded in the last 24 hours and that no message has")
	}
	slices.SortFunc(attached, func(a, b db.TicketAttachment) int { return strings.Compare(a.ID, b.ID) })
	return attached, nil
}

// attachments returns the files of messages by the ids of the messages.
func (s *Service) attachments(ctx context.Context, tenantID string, messages []db.TicketMessage) (map[string][]db.TicketAttachment, error) {
	ids := make([]string, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	rows, err := db.New(s.config.Pool).ListTicketAttachments(ctx, db.ListTicketAttachmentsParams{TenantID: tenantID, MessageIds: ids})
	if err != nil {
		return nil, fmt.Errorf("list ticket attachments: %w", err)
	}
	files := map[string][]db.TicketAttachment{}
	for _, a := range rows {
		files[*a.MessageID] = append(files[*a.MessageID], a)
	}
	return files, nil
}

// OpenAttachment opens a file of a ticket of the caller's tenant, unless only admins may read its message. The caller closes the file.
func (s *Service) OpenAttachment(
	ctx context.Context, c tenancy.Caller, ticketID, attachmentID string,
) (db.TicketAttachment, io.ReadCloser, error) {
	return s.open(ctx, db.GetTicketAttachmentParams{TenantID: c.TenantID, TicketID: &ticketID, ID: attachmentID})
}

// OpenAdminAttachment opens a file of any ticket. The caller closes the file.
func (s *Service) OpenAdminAttachment(ctx context.Context, ticketID, attachmentID string) (db.TicketAttachment, io.ReadCloser, error) {
	row, err := db.New(s.config.Pool).GetAdminTicket(ctx, ticketID)
	if err != nil {
		return db.TicketAttachment{}, nil, missing(err)
	}
	return s.open(ctx, db.GetTicketAttachmentParams{TenantID: row.Ticket.TenantID, TicketID: &ticketID, ID: attachmentID, Internal: true})
}

func (s *Service) open(ctx context.Context, p db.GetTicketAttachmentParams) (db.TicketAttachment, io.ReadCloser, error) {
	row, err := db.New(s.config.Pool).GetTicketAttachment(ctx, p)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, nil, problem.Missing("file")
	}
	if err != nil {
		return row, nil, fmt.Errorf("get ticket attachment: %w", err)
	}
	file, err := s.config.Files.Open(ctx, fileKey(row.ID), 0, -1)
	if errors.Is(err, blob.ErrNotFound) {
		return row, nil, problem.Missing("file")
	}
	if err != nil {
		return row, nil, fmt.Errorf("open the file of a ticket: %w", err)
	}
	return row, file, nil
}

// DeleteOld deletes files that no message has, with their bytes, keepUnused after their upload.
func (s *Service) DeleteOld(ctx context.Context) error {
	return postgres.DeleteInBatches(ctx, "ticket attachments", func(maxRows int32) (int64, error) {
		for total := int64(0); ; {
			n, err := s.deleteUnused(ctx)
			total += n
			if err != nil || n < deletedAtOnce || total >= int64(maxRows) {
				return total, err
			}
		}
	})
}

// deleteUnused deletes up to deletedAtOnce files. The rows stay if the storage fails.
func (s *Service) deleteUnused(ctx context.Context) (deleted int64, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		rows, err := q.LockUnusedTicketAttachments(ctx, db.LockUnusedTicketAttachmentsParams{
			Before: s.config.Now().Add(-keepUnused), MaxRows: deletedAtOnce,
		})
		if err != nil {
			return fmt.Errorf("lock unused ticket attachments: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		ids, keys := make([]string, len(rows)), make([]string, len(rows))
		for i, a := range rows {
			ids[i], keys[i] = a.ID, fileKey(a.ID)
		}
		if err := s.config.Files.Delete(ctx, keys...); err != nil {
			return fmt.Errorf("delete the files of tickets: %w", err)
		}
		deleted, err = q.DeleteTicketAttachments(ctx, ids)
		return err
	})
	return deleted, err
}
