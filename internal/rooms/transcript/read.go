package transcript

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// pageLines is how many lines are read from the database at a time.
const pageLines = 500

// Line is a line of a session's transcript.
type Line struct {
	db.TranscriptLine

	// Offset is when the speaker began, from the start of the session.
	Offset time.Duration
}

// ListTranscriptLines returns a page of a session's transcript, the earliest first; cursor is the id of the last line before it, nil for
// the first page.
func (s *Service) ListTranscriptLines(ctx context.Context, c tenancy.Caller, sessionID string, cursor *string, limit int) ([]Line, error) {
	row, err := s.config.Sessions.FindSession(ctx, c.TenantID, sessionID)
	if err != nil {
		return nil, err
	}
	after := ""
	if cursor != nil {
		after = *cursor
	}
	return s.list(ctx, row, after, limit)
}

// Lines returns all lines of a session's transcript, the earliest first, at most maxLines.
func (s *Service) Lines(ctx context.Context, row db.Session) (all []db.TranscriptLine, err error) {
	after := ""
	for {
		page, err := s.list(ctx, row, after, pageLines)
		if err != nil {
			return nil, err
		}
		for _, l := range page {
			all, after = append(all, l.TranscriptLine), l.ID
		}
		if len(page) < pageLines {
			return all, nil
		}
	}
}

func (s *Service) list(ctx context.Context, row db.Session, after string, maxRows int) ([]Line, error) {
	rows, err := db.New(s.config.Pool).ListTranscriptLines(ctx, db.ListTranscriptLinesParams{
		TenantID: row.TenantID, SessionID: row.ID, After: after, MaxRows: int32(maxRows),
	})
	if err != nil {
		return nil, fmt.Errorf("list transcript lines: %w", err)
	}
	lines := make([]Line, len(rows))
	for i, r := range rows {
		lines[i] = Line{r, max(0, r.StartedAt.Sub(session.Beginning(row)))}
	}
	return lines, nil
}

// GetTranscriptVTT returns a session's transcript as WebVTT. The reader reads the lines from the database while it is read, until ctx
// ends.
func (s *Service) GetTranscriptVTT(ctx context.Context, c tenancy.Caller, sessionID string) (io.Reader, error) {
	row, err := s.config.Sessions.FindSession(ctx, c.TenantID, sessionID)
	if err != nil {
		return nil, err
	}
	after, done := "", false
	pending := strings.NewReader("WEBVTT\n")
	return readerFunc(func(p []byte) (int, error) {
		for pending.Len() == 0 {
			if done {
				return 0, io.EOF
			}
			lines, err := s.list(ctx, row, after, pageLines)
			if err != nil {
				return 0, err
			}
			done = len(lines) < pageLines
			var text strings.Builder
			for _, l := range lines {
				after = l.ID
				writeCue(&text, l)
			}
			pending.Reset(text.String())
		}
		return pending.Read(p) //nolint:wrapcheck // a reader returns io.EOF as it is
	}), nil
}

// readerFunc is a Read method.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// writeCue writes a line as a cue of WebVTT. A cue needs an end after its start, and its text has no empty lines.
func writeCue(w *strings.Builder, l Line) {
	end := max(l.Offset+l.EndedAt.Sub(l.StartedAt), l.Offset+time.Second)
	text := strings.Join(strings.Fields(l.Body), " ")
	fmt.Fprintf(w, "\n%s --> %s\n<v %s>%s\n", clock(l.Offset), clock(end), voice(l.Speaker), escape(text))
}

// voice is a name as the annotation of a voice span: without line ends, and escaped.
func voice(name string) string { return escape(strings.Join(strings.Fields(name), " ")) }

// escape escapes a text of a cue. Quotes stay: many players know no other references than those of WebVTT.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// clock formats a time of WebVTT: hours, minutes, seconds and milliseconds.
func clock(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}
