package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// pieceLength is the length of a piece of the pictures. It is a multiple of the interval of key pictures.
	pieceLength = time.Minute

	pieceSuffix, noteSuffix, unfinishedSuffix = ".flv", ".json", ".unfinished"
	voicePrefix, voiceSuffix                  = "voice-", ".m4a"
)

// piece is what is known of a part of the composed pictures. It is stored beside them.
type piece struct {
	Pictures int `json:"pictures"`
	// Failed has the ids of segments that could not be decoded to their ends.
	Failed []string `json:"failed,omitempty"`
	// Estimates are those that were made since the piece before.
	Estimates []estimate `json:"estimates,omitempty"`
}

// piecePath returns the path of a piece without its suffix.
func piecePath(folder, layout string, n int) string {
	return filepath.Join(folder, fmt.Sprintf("piece-%s-%06d", layout, n))
}

// loadPieces returns the pieces that earlier sessions have finished, and removes all other files.
func loadPieces(folder, layout string) (list []*piece, err error) {
	kept := map[string]bool{}
	for {
		path := piecePath(folder, layout, len(list))
		b, err := os.ReadFile(path + noteSuffix)
		p := &piece{}
		if err != nil || json.Unmarshal(b, p) != nil {
			break
		}
		if _, err := os.Stat(path + pieceSuffix); err != nil {
			break
		}
		list = append(list, p)
		kept[filepath.Base(path)+noteSuffix], kept[filepath.Base(path)+pieceSuffix] = true, true
	}
	return list, clean(folder, func(name string) bool { return kept[name] })
}

// clean removes the files of a folder except some.
func clean(folder string, keep func(name string) bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("list the files of a composition: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || keep(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
			return fmt.Errorf("remove a file of a composition: %w", err)
		}
	}
	return nil
}

// tidy removes all files of a session except its results.
func (s *session) tidy() error {
	return clean(s.folder, func(name string) bool {
		return strings.HasPrefix(name, "piece-") && !strings.HasSuffix(name, unfinishedSuffix) ||
			strings.HasPrefix(name, voicePrefix) && strings.HasSuffix(name, voiceSuffix)
	})
}

// piecePictures returns the number of pictures of a whole piece.
func (s *session) piecePictures() int { return int(s.pieceLength * FrameRate / time.Second) }

// fit drops the pieces from the first one on that has another length than it must have: the last one ends with the recording.
func (s *session) fit(total int) {
	for n, p := range s.pieces {
		if p.Pictures != min(s.piecePictures(), total-n*s.piecePictures()) {
			s.pieces, s.unsaved = s.pieces[:n], 0
			break
		}
	}
}

// finish makes an encoded file the next piece. A process that is killed leaves all of it or nothing: a piece without its file of
// pictures isn't loaded.
func (s *session) finish(encoded string, p *piece) error {
	p.Estimates = s.estimates[s.unsaved:]
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the note of a piece: %w", err)
	}
	path := piecePath(s.folder, s.layout, len(s.pieces))
	if err := os.Remove(path + pieceSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove an old piece: %w", err)
	}
	note := path + noteSuffix + unfinishedSuffix
	if err := os.WriteFile(note, b, 0o600); err != nil {
		return fmt.Errorf("write the note of a piece: %w", err)
	}
	if err := os.Rename(note, path+noteSuffix); err != nil {
		return fmt.Errorf("finish a piece: %w", err)
	}
	if err := os.Rename(encoded, path+pieceSuffix); err != nil {
		return fmt.Errorf("finish a piece: %w", err)
	}
	s.pieces, s.unsaved = append(s.pieces, p), len(s.estimates)
	return nil
}

// failed returns how many segments could not be decoded to their ends.
func (s *session) failed() int {
	all := map[string]bool{}
	for _, p := range s.pieces {
		for _, id := range p.Failed {
			all[id] = true
		}
	}
	return len(all)
}
