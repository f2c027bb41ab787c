package handlers_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/blob"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const attachmentsPath = "/v1/me/ticket-attachments"

func TestFilesOfTicketsAreExchanged(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, support := s.Register(t), s.Admin(t, platform.Support)
	page := []byte("<html><script>alert(1)</script>")
	picture, log := owner.TicketAttachment(t, "Bild „1“ ü.html", page), owner.TicketAttachment(t, "obs.log", []byte("refused"))
	require.Equal(t, "text/html; charset=utf-8", picture.ContentType)
	require.EqualValues(t, len(page), picture.SizeBytes)

	var mine api.SupportTicketDetail
	input := map[string]any{"subject": "No picture", "body": "See the files.", "attachmentIds": []string{picture.ID, log.ID}}
	owner.Call(t, "POST", "/v1/me/tickets", input).Into(t, 201, &mine)
	require.Equal(t, []api.TicketAttachment{picture, log}, mine.Messages[0].Attachments)
	path, adminPath := "/v1/me/tickets/"+mine.Ticket.ID, "/v1/admin/tickets/"+mine.Ticket.ID

	// Browsers save it, and don't show it as a page of this server.
	got := owner.Call(t, "GET", path+"/attachments/"+picture.ID, nil).Is(t, 200)
	require.Equal(t, page, got.Body)
	require.Equal(t, "application/octet-stream", got.Header.Get("Content-Type"))
	require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "attachment; filename*=utf-8''Bild%20%E2%80%9E1%E2%80%9C%20%C3%BC.html", got.Header.Get("Content-Disposition"))
	require.Equal(t, page, support.Call(t, "GET", adminPath+"/attachments/"+picture.ID, nil).Is(t, 200).Body)

	// The admins' files: one of an answer, one of a note.
	var answer, note api.TicketAttachment
	support.Upload(t, adminPath+"/attachments", "answer.txt", []byte("Do this.")).Into(t, 201, &answer)
	support.Upload(t, adminPath+"/attachments", "note.txt", []byte("Not for the tenant.")).Into(t, 201, &note)
	owner.Call(t, "GET", path+"/attachments/"+answer.ID, nil).Problem(t, 404, "not_found") // not yet sent
	var detail api.TicketDetail
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "Note", "internal": true, "attachmentIds": []string{note.ID}}).Is(t, 201)
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "Answer", "attachmentIds": []string{answer.ID}}).Into(t, 201, &detail)
	require.Equal(t, note.ID, detail.Messages[1].Attachments[0].ID)
	owner.Call(t, "GET", path, nil).Into(t, 200, &mine)
	require.Len(t, mine.Messages, 2)
	require.Equal(t, []api.TicketAttachment{answer}, mine.Messages[1].Attachments)
	owner.Call(t, "GET", path+"/attachments/"+answer.ID, nil).Is(t, 200)
	owner.Call(t, "GET", path+"/attachments/"+note.ID, nil).Problem(t, 404, "not_found")
	support.Call(t, "GET", adminPath+"/attachments/"+note.ID, nil).Is(t, 200)

	other := s.Register(t)
	other.Call(t, "GET", path+"/attachments/"+log.ID, nil).Problem(t, 404, "not_found")
	var elsewhere api.SupportTicketDetail
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "s", "body": "b"}).Into(t, 201, &elsewhere)
	owner.Call(t, "GET", "/v1/me/tickets/"+elsewhere.Ticket.ID+"/attachments/"+log.ID, nil).Problem(t, 404, "not_found")
	support.Call(t, "GET", "/v1/admin/tickets/"+elsewhere.Ticket.ID+"/attachments/"+log.ID, nil).Problem(t, 404, "not_found")
}

func TestOnlyOwnFreshFilesAreAttached(t *testing.T) {
	t.Parallel()
	files, err := blob.Open(t.Context(), blob.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), Files: files})
	owner, other, support := s.Register(t), s.Register(t), s.Admin(t, platform.Support)
	colleague := owner.Colleague(t, tenancy.Admin)
	create := func(c *apitest.Caller, ids ...string) apitest.Response {
		return c.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "s", "body": "b", "attachmentIds": append([]string{}, ids...)})
	}
	file, used := owner.TicketAttachment(t, "a.txt", []byte("a")), owner.TicketAttachment(t, "b.txt", []byte("b"))
	var mine, others api.SupportTicketDetail
	create(owner, used.ID).Into(t, 201, &mine)
	create(other).Into(t, 201, &others)

	create(other, file.ID).Problem(t, 400, "invalid_input")
	create(colleague, file.ID).Problem(t, 400, "invalid_input")
	create(owner, file.ID, used.ID).Problem(t, 400, "invalid_input")
	create(owner, file.ID, file.ID).Problem(t, 400, "invalid_input")
	create(owner, "tatt_none").Problem(t, 400, "invalid_input")
	reply := func(ticketID, attachmentID string) apitest.Response {
		return support.Call(t, "POST", "/v1/admin/tickets/"+ticketID+"/reply", map[string]any{"body": "b", "attachmentIds": []string{attachmentID}})
	}
	reply(mine.Ticket.ID, file.ID).Problem(t, 400, "invalid_input")
	var answer api.TicketAttachment
	support.Upload(t, "/v1/admin/tickets/"+mine.Ticket.ID+"/attachments", "a.txt", []byte("a")).Into(t, 201, &answer)
	reply(others.Ticket.ID, answer.ID).Problem(t, 400, "invalid_input")

	// A refused message leaves the file free.
	owner.Call(t, "POST", "/v1/me/tickets/"+mine.Ticket.ID+"/reply", map[string]any{"body": "b", "attachmentIds": []string{file.ID}}).Is(t, 201)

	// A file that no message has is deleted, others stay. A tenant on legal hold keeps all.
	root := s.Admin(t, platform.SuperAdmin)
	held, unused := other.TicketAttachment(t, "held.txt", []byte("h")), owner.TicketAttachment(t, "c.txt", []byte("c"))
	root.Call(t, "PUT", "/v1/admin/compliance/"+other.TenantID, map[string]any{"verification": "VERIFIED", "riskLevel": "LOW", "legalHold": true}).Is(t, 200)
	s.Clock.Advance(24*time.Hour + time.Minute)
	late := owner.LogInAgain(t)
	create(late, unused.ID).Problem(t, 400, "invalid_input")
	s.Clock.Advance(time.Hour)
	require.NoError(t, s.Tickets.DeleteOld(t.Context()))
	require.Equal(t, []string{held.ID}, unusedFiles(t, s))
	_, err = files.Stat(t.Context(), "tickets/"+unused.ID)
	require.ErrorIs(t, err, blob.ErrNotFound)
	_, err = files.Stat(t.Context(), "tickets/"+held.ID)
	require.NoError(t, err)
	owner.LogInAgain(t).Call(t, "GET", "/v1/me/tickets/"+mine.Ticket.ID+"/attachments/"+used.ID, nil).Is(t, 200)
}

// unusedFiles lists the files of the database that no message has.
func unusedFiles(t *testing.T, s *apitest.Server) (ids []string) {
	t.Helper()
	const query = `SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM ticket_attachments WHERE message_id IS NULL`
	require.NoError(t, s.Pool.QueryRow(t.Context(), query).Scan(&ids))
	return ids
}

func TestMessagesNameTheirFiles(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}) // a database of its own: the setting counts for all tenants
	owner, support, root := s.Register(t), s.Admin(t, platform.Support), s.Admin(t, platform.SuperAdmin)
	root.Call(t, "PUT", "/v1/admin/settings/support.mailTo", map[string]any{"value": "help@example.test"}).Is(t, 200)
	small, large := owner.TicketAttachment(t, "obs <b>log.txt", []byte("refused")), owner.TicketAttachment(t, "b.bin", make([]byte, 3<<19))
	var mine api.SupportTicketDetail
	input := map[string]any{"subject": "No picture", "body": "See the files.", "attachmentIds": []string{large.ID, small.ID}}
	owner.Call(t, "POST", "/v1/me/tickets", input).Into(t, 201, &mine)
	got := s.LastMail(t, "help@example.test")
	const listed = "See the files.\n\nDownload the files from the ticket:\n\n“obs <b>log.txt” (7 bytes)\n\n“b.bin” (1.5 MiB)\n"
	require.Contains(t, got.Text, listed)
	require.Contains(t, got.HTML, "“obs &lt;b&gt;log.txt” (7 bytes)")

	path := "/v1/me/tickets/" + mine.Ticket.ID
	owner.Call(t, "POST", path+"/reply", map[string]any{"body": "One more.", "attachmentIds": []string{
		owner.TicketAttachment(t, "c.log", make([]byte, 2048)).ID,
	}}).Is(t, 201)
	require.Contains(t, s.LastMail(t, "help@example.test").Text, "“c.log” (2.0 KiB)")

	adminPath := "/v1/admin/tickets/" + mine.Ticket.ID
	var note, answer api.TicketAttachment
	support.Upload(t, adminPath+"/attachments", "note.txt", []byte("Not for the tenant.")).Into(t, 201, &note)
	support.Upload(t, adminPath+"/attachments", "answer.txt", []byte("Do this.")).Into(t, 201, &answer)
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "Note", "internal": true, "attachmentIds": []string{note.ID}}).Is(t, 201)
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "See the file.", "attachmentIds": []string{answer.ID}}).Is(t, 201)
	text := s.LastMail(t, owner.Email).Text
	require.Contains(t, text, "See the file.\n\nDownload the files from the ticket:\n\n“answer.txt” (8 bytes)\n")
	require.NotContains(t, text, "note.txt")
	support.Call(t, "POST", adminPath+"/reply", map[string]any{"body": "No file."}).Is(t, 201)
	require.NotContains(t, s.LastMail(t, owner.Email).Text, "Download the files")

	rows, err := s.Pool.Query(t.Context(), "SELECT payload->'data' FROM events WHERE tenant_id = $1 AND event = 'ticket.replied' ORDER BY id", owner.TenantID)
	require.NoError(t, err)
	events, err := pgx.CollectRows(rows, pgx.RowTo[json.RawMessage])
	require.NoError(t, err)
	require.Len(t, events, 2)
	var withFile struct{ Attachments []api.TicketAttachment }
	require.NoError(t, json.Unmarshal(events[0], &withFile))
	require.Equal(t, []api.TicketAttachment{answer}, withFile.Attachments)
	require.NotContains(t, string(events[1]), "attachments")
}

// heldUpload is an upload whose server has begun to read the body, and waits for the rest.
type heldUpload struct {
	body   *io.PipeWriter
	status chan int
}

// holdUpload begins an upload, and returns when the server asks for the body.
func holdUpload(t *testing.T, s *apitest.Server, c *apitest.Caller) heldUpload {
	t.Helper()
	reader, writer := io.Pipe()
	t.Cleanup(func() { require.NoError(t, writer.Close()) })
	begun := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(begun) }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+attachmentsPath+"?name=a.txt", reader)
	require.NoError(t, err)
	r.ContentLength = int64(len("whole"))
	r.Header.Set("Authorization", "Bearer "+c.Token)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Expect", "100-continue")
	// A transport of its own: it waits for the server's 100 instead of sending the body after a second.
	transport := &http.Transport{ExpectContinueTimeout: time.Hour}
	t.Cleanup(transport.CloseIdleConnections)
	held := heldUpload{writer, make(chan int, 1)}
	go func() {
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Errorf("upload: %v", err)
			held.status <- 0
			return
		}
		if err := answer.Body.Close(); err != nil {
			t.Errorf("close the answer of an upload: %v", err)
		}
		held.status <- answer.StatusCode
	}()
	select {
	case <-begun:
	case status := <-held.status:
		t.Fatalf("answered %d before the body", status)
	case <-time.After(time.Minute):
		t.Fatal("the server doesn't ask for the body")
	}
	return held
}

// finish sends the body, and returns the status of the answer.
func (h heldUpload) finish(t *testing.T) int {
	t.Helper()
	_, err := io.WriteString(h.body, "whole")
	require.NoError(t, err)
	require.NoError(t, h.body.Close())
	return <-h.status
}

func TestAServerReceivesEightFilesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	first, ninth := s.Register(t), s.Register(t)
	held := []heldUpload{holdUpload(t, s, first), holdUpload(t, s, first)}
	const limits = "at most 8 files at the same time, 2 of them from one tenant"
	p := first.Upload(t, attachmentsPath, "b.txt", []byte("b")).Problem(t, 429, "rate_limited")
	require.Contains(t, p.Message, limits)
	for len(held) < 8 {
		held = append(held, holdUpload(t, s, s.Register(t)))
	}
	p = ninth.Upload(t, attachmentsPath, "b.txt", []byte("b")).Problem(t, 429, "rate_limited")
	require.Contains(t, p.Message, limits)
	require.Equal(t, http.StatusCreated, held[7].finish(t))
	ninth.TicketAttachment(t, "b.txt", []byte("b"))
	for _, h := range held[:7] {
		require.Equal(t, http.StatusCreated, h.finish(t))
	}
}

func TestUploadsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Upload(t, attachmentsPath, "a.txt", nil).Problem(t, 400, "invalid_input")
	for _, name := range []string{"", "../a", `a\b`, "a\u0000", "a\u202etxt.exe", " ", string(bytes.Repeat([]byte("n"), 201))} {
		owner.Upload(t, attachmentsPath, name, []byte("a")).Problem(t, 400, "invalid_input")
	}
	owner.Key(t, tenancy.SupportWrite).Upload(t, attachmentsPath, "a.txt", []byte("a")).Is(t, 401) // only users
	owner.Colleague(t, tenancy.Viewer).Upload(t, attachmentsPath, "a.txt", []byte("a")).Is(t, 403)

	owner.Call(t, "POST", attachmentsPath+"?name=a.json", map[string]any{}).Is(t, http.StatusUnsupportedMediaType)
	whole := make([]byte, 10<<20)
	_, err := rand.Read(whole)
	require.NoError(t, err)
	owner.Upload(t, attachmentsPath, "a.bin", slices.Concat(whole, []byte{0})).Is(t, http.StatusRequestEntityTooLarge)
	var mine api.SupportTicketDetail
	file := owner.TicketAttachment(t, "a.bin", whole)
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "s", "body": "b", "attachmentIds": []string{file.ID}}).Into(t, 201, &mine)
	got := owner.Call(t, "GET", "/v1/me/tickets/"+mine.Ticket.ID+"/attachments/"+file.ID, nil).Is(t, 200)
	require.True(t, bytes.Equal(whole, got.Body))

	const fill = `INSERT INTO ticket_attachments (id, tenant_id, author_type, author_id, name, content_type, size_bytes, stored_at, created_at)
		SELECT 'tatt_' || $1 || n, $1, 'TENANT', $2, 'a', 'text/plain', 10485760, $3, $3 FROM generate_series(1, $4::int) n`
	add := func(at time.Time, n int) {
		_, err := s.Pool.Exec(t.Context(), fill, owner.TenantID, owner.UserID, at, n)
		require.NoError(t, err)
	}
	add(s.Clock.Now(), 19)
	p := owner.Upload(t, attachmentsPath, "a.txt", []byte("a")).Problem(t, 429, "rate_limited")
	require.Contains(t, p.Message, "200 MiB")
	_, err = s.Pool.Exec(t.Context(), `UPDATE ticket_attachments SET created_at = created_at - interval '2 days' WHERE tenant_id = $1`, owner.TenantID)
	require.NoError(t, err)
	owner.TicketAttachment(t, "a.txt", []byte("a"))
	_, err = s.Pool.Exec(t.Context(), `UPDATE ticket_attachments SET id = id || 'x' WHERE message_id IS NULL AND tenant_id = $1`, owner.TenantID)
	require.NoError(t, err)
	add(s.Clock.Now().AddDate(0, 0, -2), 185)
	p = owner.Upload(t, attachmentsPath, "a.txt", []byte("a")).Problem(t, 409, "conflict")
	require.Contains(t, p.Message, "2 GiB")
}
