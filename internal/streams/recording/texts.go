package recording

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"golang.org/x/text/language"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/webvtt"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
	"showfloor/internal/tenancy/usage"
)

// Kinds of text tracks.
const (
	Subtitles = "SUBTITLES"
	// Captions also describe sounds.
	Captions = "CAPTIONS"
)

const (
	// maxTexts is the number of text tracks of a recording.
	maxTexts = 50
	// maxTextBytes bounds an uploaded WebVTT file.
	maxTextBytes = 1 << 20
	// textKept is how long replaced and deleted files of text tracks stay, for viewers who began before.
	textKept = 24 * time.Hour
)

// TextTrack is a recording's text in one language.
type TextTrack = db.RecordingTextTrack

// TextInput is an uploaded text track.
type TextInput struct {
	Language, Name string
	// Kind is Subtitles or Captions.
	Kind string
	// Content is a WebVTT file.
	Content string
}

// TextStore stores the files of text tracks.
type TextStore interface {
	// StoreText writes the files of a version of a text track, and returns their size in bytes. It returns a problem for a text
	// that becomes too large and for a recording that has too many parts.
	StoreText(ctx context.Context, m Media, version string, text *webvtt.File) (int64, error)
}

// RemoveTextArgs is the job that removes the files of a version of a text track, unless it is the current one.
type RemoveTextArgs struct {
	RecordingID string `json:"recordingId"`
	Version     string `json:"version"`
}

// Kind is the job's name.
func (RemoveTextArgs) Kind() string { return "recording_remove_text" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (RemoveTextArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: filesQueue} }

// textPrefix is the prefix of the keys of a version's files.
func textPrefix(recordingID, version string) string {
	return recordfile.Key(recordingID, recordfile.TextFolder(version))
}

// ListRecordingTextTracks returns the text tracks of a recording, by language.
func (s *Service) ListRecordingTextTracks(ctx context.Context, c tenancy.Caller, recordingID string) ([]TextTrack, error) {
	r, err := s.get(ctx, c, recordingID)
	if err != nil || r.Status == Deleted {
		return nil, err
	}
	return textsOf(ctx, db.New(s.config.Pool), r.ID)
}

func textsOf(ctx context.Context, q *db.Queries, recordingID string) ([]TextTrack, error) {
	list, err := q.ListTextTracks(ctx, recordingID)
	if err != nil {
		return nil, fmt.Errorf("list text tracks: %w", err)
	}
	return list, nil
}

// PutRecordingTextTrack adds a text track to a READY recording, or replaces the one of the same language. Without a change it
// writes nothing. It isn't one transaction: the files are stored first, after a job that removes them if they aren't needed.
func (s *Service) PutRecordingTextTrack(ctx context.Context, c tenancy.Caller, recordingID string, in TextInput) (TextTrack, error) {
	r, err := s.get(ctx, c, recordingID)
	if err != nil {
		return TextTrack{}, err
	}
	if in.Language, err = canonical(in.Language); err != nil {
		return TextTrack{}, err
	}
	in.Name = strings.TrimSpace(in.Name)
	file, err := in.parse()
	if err != nil {
		return TextTrack{}, err
	}
	list, err := textsOf(ctx, db.New(s.config.Pool), r.ID)
	if err != nil {
		return TextTrack{}, err
	}
	if err := mayHaveText(r, list, in); err != nil {
		return TextTrack{}, err
	}
	hash := sha256.Sum256([]byte(in.Content))
	next := db.PutTextTrackParams{
		RecordingID: r.ID, Language: in.Language, TenantID: r.TenantID, Name: in.Name, Kind: in.Kind, Hash: hash[:], Cues: int32(len(file.Cues)),
	}
	if old := textIn(list, in.Language); old != nil && bytes.Equal(old.Hash, hash[:]) {
		next.Version, next.SizeBytes = old.Version, old.SizeBytes
	} else if err := s.config.Usage.CheckAllowance(ctx, r.TenantID, usage.StorageBytes); err != nil {
		return TextTrack{}, err
	} else if next.Version, next.SizeBytes, err = s.storeText(ctx, r.ID, file); err != nil {
		return TextTrack{}, err
	}
	return s.saveText(ctx, c, in, next)
}

// parse returns the parsed file of an upload.
func (in TextInput) parse() (*webvtt.File, error) {
	if len(in.Content) > maxTextBytes {
		return nil, problem.BadField("content", "has %d bytes, more than 1 MiB", len(in.Content))
	}
	file, err := webvtt.Parse(in.Content)
	if fault, ok := errors.AsType[*webvtt.SyntaxError](err); ok {
		return nil, problem.BadField("content", "isn't WebVTT: %s", fault.Error())
	}
	return file, err
}

// storeText stores the files of a new version.
func (s *Service) storeText(ctx context.Context, recordingID string, file *webvtt.File) (version string, size int64, err error) {
	if s.config.Texts == nil {
		return "", 0, problem.New(problem.Unavailable, "unavailable", "this server has no store of files")
	}
	m, err := s.StoredMedia(ctx, recordingID)
	if err != nil {
		return "", 0, err
	}
	version = id.New(id.TextVersion)
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.removeTextTx(ctx, tx, recordingID, version) })
	if err != nil {
		return "", 0, err
	}
	size, err = s.config.Texts.StoreText(ctx, m, version, file)
	stored.From(ctx).Add(int(size)) // also if it isn't saved: the files stay for textKept
	return version, size, err
}

// removeTextTx adds the job that removes the files of a version in textKept.
func (s *Service) removeTextTx(ctx context.Context, tx pgx.Tx, recordingID, version string) error {
	return s.insertJob(ctx, tx, RemoveTextArgs{recordingID, version}, &river.InsertOpts{ScheduledAt: s.config.Now().Add(textKept)})
}

// saveText makes a stored version the current one.
func (s *Service) saveText(ctx context.Context, c tenancy.Caller, in TextInput, next db.PutTextTrackParams) (saved TextTrack, err error) {
	err = s.change(ctx, c, next.RecordingID, func(tx pgx.Tx, r db.Recording) error {
		q := db.New(tx)
		list, err := textsOf(ctx, q, r.ID)
		if err != nil {
			return err
		}
		if err := mayHaveText(r, list, in); err != nil {
			return err
		}
		if old := textIn(list, in.Language); old != nil && old.Version != next.Version { // the files of the former one are removed
			if err := compliance.RefuseHeldTx(ctx, tx, r.TenantID); err != nil {
				return err
			}
		}
		next.Now = s.config.Now()
		grown, old := next.SizeBytes, textIn(list, next.Language)
		var before any
		if old != nil {
			if saved = *old; old.Version == next.Version && old.Name == next.Name && old.Kind == next.Kind {
				return nil
			}
			grown -= old.SizeBytes
			before = textView(*old)
			if old.Version != next.Version {
				if err := s.removeTextTx(ctx, tx, r.ID, old.Version); err != nil {
					return err
				}
			}
		}
		if saved, err = q.PutTextTrack(ctx, next); err != nil {
			return fmt.Errorf("put text track: %w", err)
		}
		return s.textChangedTx(ctx, tx, c, r, grown, audit.Entry{Action: "recording.put_text_track", Before: before, After: textView(saved)})
	})
	return saved, err
}

// textChangedTx changes the size of a locked recording and writes the audit entry.
func (s *Service) textChangedTx(ctx context.Context, tx pgx.Tx, c tenancy.Caller, r db.Recording, grown int64, e audit.Entry) error {
	q, now := db.New(tx), s.config.Now()
	if err := q.AddRecordingSize(ctx, db.AddRecordingSizeParams{TenantID: r.TenantID, ID: r.ID, Bytes: grown, Now: now}); err != nil {
		return fmt.Errorf("add to the recording's size: %w", err)
	}
	e.Actor, e.TenantID, e.Entity, e.EntityID = c.Actor(), r.TenantID, entity, r.ID
	return audit.WriteTx(ctx, q, now, e)
}

// textView is a text track in the audit log.
func textView(t TextTrack) map[string]any {
	return map[string]any{"language": t.Language, "name": t.Name, "kind": t.Kind, "sizeBytes": t.SizeBytes}
}

// DeleteRecordingTextTrack deletes a text track and returns it.
func (s *Service) DeleteRecordingTextTrack(ctx context.Context, c tenancy.Caller, recordingID, lang string) (deleted TextTrack, err error) {
	err = s.change(ctx, c, recordingID, func(tx pgx.Tx, r db.Recording) error {
		lang, err := canonical(lang)
		if err != nil {
			return err
		}
		q := db.New(tx)
		list, err := textsOf(ctx, q, r.ID)
		if err != nil {
			return err
		}
		old := textIn(list, lang)
		if old == nil || r.Status == Deleted {
			return problem.Missing("text track")
		}
		if err := compliance.RefuseHeldTx(ctx, tx, r.TenantID); err != nil {
			return err
		}
		deleted = *old
		if err := q.DeleteTextTrack(ctx, db.DeleteTextTrackParams{TenantID: r.TenantID, RecordingID: r.ID, Language: lang}); err != nil {
			return fmt.Errorf("delete text track: %w", err)
		}
		if err := s.removeTextTx(ctx, tx, r.ID, old.Version); err != nil {
			return err
		}
		return s.textChangedTx(ctx, tx, c, r, -old.SizeBytes, audit.Entry{Action: "recording.delete_text_track", Before: textView(*old)})
	})
	return deleted, err
}

// RemoveText removes the files of a version of a text track, unless it is the current one. It may be repeated.
func (s *Service) RemoveText(ctx context.Context, recordingID, version string) error {
	current, err := db.New(s.config.Pool).HasTextVersion(ctx, db.HasTextVersionParams{RecordingID: recordingID, Version: version})
	if err != nil {
		return fmt.Errorf("look for the version of a text track: %w", err)
	}
	if current {
		return nil
	}
	if err := s.config.Files.DeletePrefix(ctx, textPrefix(recordingID, version)); err != nil {
		return fmt.Errorf("remove text %s of %s: %w", version, recordingID, err)
	}
	return nil
}

// textIn returns the text track of a language; nil if there is none.
func textIn(list []TextTrack, lang string) *TextTrack {
	i := slices.IndexFunc(list, func(t TextTrack) bool { return t.Language == lang })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// canonical returns a language's canonical form, such as pt-BR for PT-br.
func canonical(lang string) (string, error) {
	tag, err := language.Parse(lang)
	if err != nil || tag.IsRoot() || strings.Contains(lang, "_") { // Parse accepts POSIX's names too
		return "", problem.BadField("language", "must be a language as in BCP 47, such as en or pt-BR")
	}
	const longest = 35 // as in the API document
	if text := tag.String(); len(text) <= longest {
		return text, nil
	}
	return "", problem.BadField("language", "is longer than 35 characters in its canonical form")
}

// mayHaveText checks whether a recording with these text tracks may get one.
func mayHaveText(r db.Recording, list []TextTrack, in TextInput) error {
	switch {
	case r.Status != Ready:
		return problem.Conflicting("the recording is %s, not READY", r.Status)
	case r.PlaylistURL != nil:
		return problem.Conflicting("an outside recorder serves the recording's playlist, so it can't get text tracks")
	case textIn(list, in.Language) == nil && len(list) >= maxTexts:
		return problem.Conflicting("the recording has %d text tracks, the most that it may have", len(list))
	}
	for _, t := range list {
		if t.Language != in.Language && t.Name == in.Name {
			return problem.Conflicting("the recording's text track %s has the name %q too", t.Language, in.Name)
		}
	}
	return nil
}
