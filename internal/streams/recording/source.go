package recording

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// LockSourceTx locks a recording of the caller's tenant of which other files are to be made, so that it isn't deleted before tx ends.
// It returns the largest height of its pictures in pixels; 0 without pictures. It is the problem conflict if the recording isn't READY,
// or if an outside recorder has its files.
func (s *Service) LockSourceTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, recordingID string) (height int, err error) {
	q := db.New(tx)
	r, err := q.LockRecordingOfTenant(ctx, db.LockRecordingOfTenantParams{TenantID: c.TenantID, ID: recordingID})
	if err := found(err, "lock recording"); err != nil {
		return 0, err
	}
	switch {
	case r.Status != Ready:
		return 0, problem.Conflicting("the recording is %s, not READY", r.Status)
	case r.PlaylistURL != nil:
		return 0, problem.Conflicting("an outside recorder has the recording's files, so it can't be transcoded")
	}
	inits, err := q.ListInits(ctx, db.ListInitsParams{RecordingID: r.ID})
	if err != nil {
		return 0, fmt.Errorf("list inits: %w", err)
	}
	for _, i := range inits {
		if i.VideoBytes > 0 {
			height = max(height, int(i.Height))
		}
	}
	return height, nil
}

// IsDeletedTx locks a recording and reports whether it was deleted.
func (s *Service) IsDeletedTx(ctx context.Context, tx pgx.Tx, recordingID string) (bool, error) {
	r, err := db.New(tx).LockRecording(ctx, recordingID)
	if err != nil {
		return false, fmt.Errorf("lock recording: %w", err)
	}
	return r.Status == Deleted, nil
}

// ProjectTx returns the project of a recording's stream or session; "" for none.
func (s *Service) ProjectTx(ctx context.Context, tx pgx.Tx, recordingID string) (string, error) {
	r, err := db.New(tx).FindRecording(ctx, recordingID)
	if err != nil {
		return "", fmt.Errorf("find recording: %w", err)
	}
	project, err := projectTx(ctx, tx, r)
	if err != nil || project == nil {
		return "", err
	}
	return *project, nil
}

// SignFolder returns the URL of a recording's files, with a slash at the end, and when it expires: in an hour. It is the problem
// not_found if the recording was deleted.
func (s *Service) SignFolder(ctx context.Context, recordingID string) (url string, expires time.Time, err error) {
	expires = s.inAnHour()
	url, err = s.SignFolderUntil(ctx, recordingID, expires)
	return url, expires, err
}

// SignFolderUntil does the same for another time.
func (s *Service) SignFolderUntil(ctx context.Context, recordingID string, expires time.Time) (url string, err error) {
	r, err := db.New(s.config.Pool).FindRecording(ctx, recordingID)
	if err := found(err, "find recording"); err != nil {
		return "", err
	}
	if r.Status == Deleted {
		return "", problem.Missing("recording")
	}
	return s.signedFolder(recordingID, expires), nil
}
