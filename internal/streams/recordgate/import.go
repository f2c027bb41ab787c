package recordgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"showfloor/internal/media/decoder"
	"showfloor/internal/media/recorder"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
)

// Importer imports files that SRS servers have written. It implements recording.Importer.
type Importer struct {
	// Remote is the folder's absolute path on the SRS servers, and Root the same folder on this machine.
	Remote string
	Root   *os.Root
	Gate   *Gate
	// Dir is a folder for media that waits for the storage.
	Dir string
	// Refuse returns an error while the disk has no space for recordings.
	Refuse func() error
	// Now is the clock that all nodes share.
	Now func() time.Time
	Log *slog.Logger
}

// Import implements recording.Importer. FLV files are read directly; ffmpeg makes FLV of MP4 files, without encoding again.
func (i *Importer) Import(ctx context.Context, recordingID string, f stream.DVRFile) (take int, err error) {
	file, err := i.open(f)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at the file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return 0, recording.ImportError("the SRS server reported something that is not a file")
	}
	source, err := openSource(ctx, file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = source.close() }() // its error is returned where all of it was read
	config := recorder.Config{
		Dir: i.Dir, Reports: importReports{i.Gate}, Files: i.Gate, Refuse: i.Refuse, Now: i.Now, Log: i.Log,
	}
	take, err = recorder.Import(ctx, config, recordingID, func(to *recorder.Importer) error {
		if err := rtmp.ReadFLV(source, info.ModTime().Add(-source.length), to); err != nil {
			return err
		}
		return source.close()
	})
	switch {
	case errors.Is(err, recorder.ErrEnded):
		return 0, errors.Join(recording.ErrSuperseded, err)
	case rtmp.IsMediaError(err):
		return 0, recording.ImportError("the file that the SRS server wrote can't be used: " + err.Error())
	}
	return take, err
}

// open opens a reported file for reading. Root refuses paths and links that lead out of the folder.
func (i *Importer) open(f stream.DVRFile) (*os.File, error) {
	name := path.Clean(f.Path)
	if !path.IsAbs(name) {
		name = path.Join(f.Cwd, name)
	}
	name, below := strings.CutPrefix(name, strings.TrimSuffix(i.Remote, "/")+"/")
	if !below {
		return nil, recording.ImportError("the file that the SRS server wrote is not in the folder that SRS_DVR_DIR names")
	}
	// Without O_NONBLOCK, opening a named pipe would wait for its writer.
	file, err := i.Root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	// The package has no name for this error.
	if fault, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(fault.Err.Error(), "escapes") {
		return nil, recording.ImportError("the file that the SRS server wrote leads out of the folder that SRS_DVR_DIR names")
	}
	if err != nil {
		return nil, fmt.Errorf("open a file of an SRS server: %w", err)
	}
	return file, nil
}

// RemoveStale removes the media of a process that was killed. The jobs begin again.
func (i *Importer) RemoveStale() error { return os.RemoveAll(i.Dir) }

// source is a file as FLV.
type source struct {
	io.Reader

	length time.Duration
	close  func() error // idempotent; the error of a converter
}

func openSource(ctx context.Context, file *os.File) (*source, error) {
	var head [8]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("read the beginning of a file of an SRS server: %w", err) // it may be there later
	}
	if string(head[:3]) == "FLV" {
		length, err := rtmp.FLVLength(file)
		return &source{Reader: file, length: length, close: func() error { return nil }}, err
	}
	if string(head[4:8]) != "ftyp" {
		return nil, recording.ImportError("the file that the SRS server wrote is neither FLV nor MP4")
	}
	return openMP4(ctx, file)
}

// openMP4 starts ffmpeg, which gets the open file, so that it needs no path and can read nothing else by one.
func openMP4(ctx context.Context, file *os.File) (*source, error) {
	input := []string{"-protocol_whitelist", "file", "-f", "mov", "-i", "/dev/stdin"}
	probe := exec.CommandContext(ctx, "ffprobe",
		append([]string{"-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0"}, input...)...)
	probe.Env, probe.Stdin = decoder.Environment(), file
	out, err := probe.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, recording.ImportError("this server has no ffmpeg, which it needs for MP4 files")
	}
	seconds, parseErr := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil && !failed(err) {
		return nil, fmt.Errorf("run ffprobe: %w", err)
	}
	if err != nil || parseErr != nil {
		return nil, recording.ImportError("the MP4 file that the SRS server wrote can't be read")
	}
	cmd := exec.CommandContext(ctx, "nice", slices.Concat(
		[]string{"-n", "10", "ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin"}, input,
		[]string{"-map", "0:v:0?", "-map", "0:a:0?", "-c", "copy", "-f", "flv", "-flvflags", "no_duration_filesize", "pipe:1"})...)
	cmd.Env, cmd.Stdin = decoder.Environment(), file
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ffmpeg: %w", err)
	}
	var ended bool
	return &source{Reader: stdout, length: time.Duration(seconds * float64(time.Second)), close: func() error {
		if ended {
			return nil
		}
		ended = true
		_ = stdout.Close() // if it is still writing, it ends now
		switch err := cmd.Wait(); {
		case err == nil:
			return nil
		case failed(err):
			return recording.ImportError("the MP4 file that the SRS server wrote can't be read to its end")
		default:
			return fmt.Errorf("run ffmpeg: %w", err)
		}
	}}, nil
}

// failed reports whether a program has ended by itself with an error, which another attempt doesn't change.
func failed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Exited()
}

// importReports are the reports of an import.
type importReports struct{ *Gate }

// OpenTake implements recorder.Reports.
func (g importReports) OpenTake(ctx context.Context, recordingID, key string) (int, error) {
	take, err := g.recordings().OpenImport(ctx, recordingID, key)
	return take, ended(err)
}

// EndRecording implements recorder.Reports: the job decides what becomes of the recording.
func (importReports) EndRecording(context.Context, string, string) error { return nil }
