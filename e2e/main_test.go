// Package e2e tests the built binary as a whole: real processes, a real
// PostgreSQL, ffmpeg as encoder and player, Chromium, and kill -9.
//
// The name of a test whose players must not be late begins with TestAlone. cmd/testrun runs these
// after the other tests of this package.
package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"showfloor/internal/base/postgres/embedded"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/dbtest"
)

// together is how many tests run at a time without -test.parallel, which cmd/testrun sets. They
// mostly wait, since media arrives in real time.
const together = "3"

// scratchPrefix begins the names of the folders that scratch makes.
const scratchPrefix = "showfloor-e2e-"

// showfloorBinary is the path of the tested program: SHOWFLOOR_BIN, or built here.
var showfloorBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("SHOWFLOOR_BIN"); path != "" {
		return path, nil
	}
	folder, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "showfloor")
	out, err := exec.Command("go", "build", "-o", path, "showfloor/cmd/showfloor").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build showfloor: %w: %s", err, out)
	}
	return path, nil
})

// sampleClip is the path of sample.mp4, with 720p at 30 pictures a second and 2.5 Mbit/s: SHOWFLOOR_SAMPLE, or made here.
var sampleClip = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("SHOWFLOOR_SAMPLE"); path != "" {
		return path, nil
	}
	return makeClip("sample.mp4", "1280x720", 30, "2500k")
})

// smallClip is the path of a clip with 360p at 15 pictures a second. Most tests publish it: browsers draw each picture with the processor.
var smallClip = sync.OnceValues(func() (string, error) { return makeClip("small.mp4", "640x360", 15, "800k") })

// makeClip makes a clip of 30 s with a key frame every 2 s.
func makeClip(name, size string, fps int, bitrate string) (string, error) {
	folder, err := scratch()
	if err != nil {
		return "", err
	}
	path, keyFrames := filepath.Join(folder, name), strconv.Itoa(2*fps)
	out, err := exec.Command("ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error",
		"-f", "lavfi", "-i", "testsrc2=size="+size+":rate="+strconv.Itoa(fps), "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000",
		"-t", "30", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-b:v", bitrate, "-maxrate", bitrate,
		"-bufsize", bitrate, "-g", keyFrames, "-keyint_min", keyFrames, "-sc_threshold", "0", "-c:a", "aac", "-b:a", "128k", "-ac", "2",
		path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make %s: %w: %s", name, err, out)
	}
	return path, nil
}

// scratch is a folder of this run that other accounts may read. It is in memory unless TMPDIR is
// set: on a slow disk, the databases of the servers wait seconds for each migration.
var scratch = sync.OnceValues(func() (string, error) {
	var parent string // the usual one
	if os.Getenv("TMPDIR") == "" {
		parent = embedded.MemoryDir()
	}
	removeOldScratch(parent)
	folder, err := os.MkdirTemp(parent, scratchPrefix)
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o755)
})

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", together); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	dbtest.Main(m, browsertest.Close, removeScratch)
}

// removeOldScratch removes folders in memory that have not changed for a day: their runs were killed.
func removeOldScratch(parent string) {
	if parent == "" {
		return
	}
	folders, _ := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	for _, folder := range folders {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(folder) // fails if it belongs to another account
		}
	}
}

func removeScratch() error {
	folder, err := scratch()
	return errors.Join(err, os.RemoveAll(folder))
}
