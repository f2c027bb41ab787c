package areas

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/blob"
	"showfloor/internal/console/support"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/workerhook"
)

// pins are the products that are pinned in rooms. The chat is created after the recordings.
type pins struct{ areas *Areas }

// ListPins implements recording.Pins.
func (p pins) ListPins(ctx context.Context, tenantID, roomID string, since, until time.Time) ([]db.ProductPin, error) {
	return p.areas.Chat.ListPins(ctx, tenantID, roomID, since, until)
}

// recordedSessions are the sessions that are recorded. They are created after the recordings.
type recordedSessions struct{ areas *Areas }

// RecordingEndedTx implements recording.Sessions.
func (s recordedSessions) RecordingEndedTx(ctx context.Context, tx pgx.Tx, tenantID, sessionID, recordingID string) error {
	return s.areas.Sessions.RecordingEndedTx(ctx, tx, tenantID, sessionID, recordingID)
}

// RecordingFinalTx implements recording.Sessions.
func (s recordedSessions) RecordingFinalTx(ctx context.Context, tx pgx.Tx, r db.Recording, url *string) error {
	return s.areas.Sessions.RecordingFinalTx(ctx, tx, r, url)
}

// products are the tenants' products. The catalog is created after the recordings.
type products struct{ areas *Areas }

// ListNames implements recording.Products.
func (p products) ListNames(ctx context.Context, tenantID string, ids []string) (map[string]string, error) {
	return p.areas.Catalog.ListNames(ctx, tenantID, ids)
}

// CheckProductsTx implements stream.Products.
func (p products) CheckProductsTx(ctx context.Context, tx pgx.Tx, tenantID string, ids []string) error {
	return p.areas.Catalog.CheckProductsTx(ctx, tx, tenantID, ids)
}

// ringing are the calls that ring. They are created after the sessions.
type ringing struct{ areas *Areas }

// RingingOverTx implements session.Calls.
func (r ringing) RingingOverTx(ctx context.Context, tx pgx.Tx, row db.Session, c db.Call, reason string) error {
	return r.areas.Calls.RingingOverTx(ctx, tx, row, c, reason)
}

// replays are the public recordings. The shows are created after the sessions.
type replays struct{ areas *Areas }

// CheckPublicReplay implements session.Replays.
func (r replays) CheckPublicReplay(ctx context.Context, tenantID, recordingID string) error {
	return r.areas.Shows.CheckPublicReplay(ctx, tenantID, recordingID)
}

// Files are what areas need of the store of files.
type Files interface {
	recording.Files
	mediajob.Files
	support.Files
}

// outsideRecorder implements recording.OutsideRecorder.
type outsideRecorder struct{ *workerhook.Client }

// Notify implements recording.OutsideRecorder.
func (r outsideRecorder) Notify(ctx context.Context, n recording.Notice) error { return r.Send(ctx, n) }

var errNoFiles = errors.New("this process has no store of files")

// noFiles is the store of a process without files.
type noFiles struct{}

// DeletePrefix implements recording.Files.
func (noFiles) DeletePrefix(context.Context, string) error {
	return errNoFiles
}

// Put implements support.Files.
func (noFiles) Put(context.Context, string, io.Reader, int64) (blob.Info, error) {
	return blob.Info{}, errNoFiles
}

// Open implements support.Files.
func (noFiles) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, errNoFiles
}

// Delete implements support.Files.
func (noFiles) Delete(context.Context, ...string) error { return errNoFiles }

// Stat implements Files.
func (noFiles) Stat(context.Context, string) (blob.Info, error) { return blob.Info{}, blob.ErrNotFound }

// List implements Files.
func (noFiles) List(context.Context, string) iter.Seq2[blob.Info, error] {
	return func(func(blob.Info, error) bool) {}
}
