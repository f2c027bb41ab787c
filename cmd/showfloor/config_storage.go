package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/diskspace"
	"showfloor/internal/media/ladder"
	"showfloor/internal/streams/srsapi"
)

// StorageSettings say where files are, and how clients get them. They are a part of config; the type is exported
// because the library that parses config ignores unexported embedded structs.
type StorageSettings struct {
	StorageURL      string `env:"STORAGE_URL"`
	StorageDelivery string `env:"STORAGE_DELIVERY" envDefault:"proxy"`
	MediaURL        string `env:"MEDIA_URL"`
	DVRWindow       string `env:"DVR_WINDOW" envDefault:"4h"`
	SpoolMax        string `env:"RECORDING_SPOOL_MAX" envDefault:"20GiB"`
	SRSDVRDir       string `env:"SRS_DVR_DIR"`
	SRSAPIURL       string `env:"SRS_API_URL"`

	TranscodeWorkers string `env:"TRANSCODE_WORKERS" envDefault:"1"`
	LadderWorkers    string `env:"LADDER_WORKERS"`

	AWSAccessKeyID     string `env:"AWS_ACCESS_KEY_ID"`
	AWSSecretAccessKey string `env:"AWS_SECRET_ACCESS_KEY"`
	AWSSessionToken    string `env:"AWS_SESSION_TOKEN"`
	AWSRegion          string `env:"AWS_REGION"`
	AWSDefaultRegion   string `env:"AWS_DEFAULT_REGION"`

	// dvrWindow and spoolMark are DVRWindow and SpoolMax, parsed.
	dvrWindow time.Duration
	spoolMark diskspace.Mark
	// transcodeWorkers is TranscodeWorkers, parsed.
	transcodeWorkers int
	// ladderWorkers is LadderWorkers, parsed.
	ladderWorkers int
	// srsRemote and srsLocal are the folder of SRSDVRDir on the SRS servers and on this machine; "" for none.
	srsRemote, srsLocal string
	// srsAPI is SRSAPIURL, parsed.
	srsAPI []*url.URL
}

// Values of STORAGE_DELIVERY.
const (
	deliveryProxy    = "proxy"
	deliveryRedirect = "redirect"
)

// maxTranscodeWorkers is the largest value of TRANSCODE_WORKERS. Each encoder can use all cores.
const maxTranscodeWorkers = 64

// maxLadderWorkers is the largest value of LADDER_WORKERS.
const maxLadderWorkers = 256

// readStorage checks them. Its errors don't contain the URLs.
func (s *StorageSettings) readStorage() error {
	if err := blob.CheckURL(s.StorageURL); err != nil {
		return fmt.Errorf("STORAGE_URL: %w", err)
	}
	if err := oneOf("STORAGE_DELIVERY", s.StorageDelivery, deliveryProxy, deliveryRedirect); err != nil {
		return err
	}
	if s.StorageDelivery == deliveryRedirect && !strings.HasPrefix(s.StorageURL, "s3:") {
		return errors.New("STORAGE_DELIVERY: redirect needs a STORAGE_URL that begins with s3://, because a folder can't serve clients")
	}
	if (s.AWSAccessKeyID == "") != (s.AWSSecretAccessKey == "") {
		return errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together")
	}
	var err error
	if s.dvrWindow, err = time.ParseDuration(s.DVRWindow); err != nil || s.dvrWindow < time.Minute {
		return fmt.Errorf("DVR_WINDOW: %q is not a duration of at least 1m, such as 4h", s.DVRWindow)
	}
	if s.spoolMark, err = diskspace.ParseMark(s.SpoolMax); err != nil || s.spoolMark.Of(math.MaxInt64) < minSpool {
		return fmt.Errorf("RECORDING_SPOOL_MAX: %q is not a size of at least 100MiB, such as 20GiB, or a share of the disk, such as 10%%",
			s.SpoolMax)
	}
	s.transcodeWorkers, err = strconv.Atoi(s.TranscodeWorkers)
	if err != nil || s.transcodeWorkers < 0 || s.transcodeWorkers > maxTranscodeWorkers {
		return fmt.Errorf("TRANSCODE_WORKERS: %q is not a number from 0 to %d", s.TranscodeWorkers, maxTranscodeWorkers)
	}
	if s.ladderWorkers, err = ladderWorkers(s.LadderWorkers); err != nil {
		return err
	}
	if s.srsRemote, s.srsLocal, err = sharedFolder(s.SRSDVRDir); err != nil {
		return err
	}
	if s.SRSAPIURL != "" {
		if s.srsAPI, err = srsapi.Parse(s.SRSAPIURL); err != nil {
			return fmt.Errorf("SRS_API_URL: %w", err) // the value may have a password
		}
	}
	s.MediaURL, err = mediaURL(s.MediaURL)
	return err
}

// sharedFolder parses SRS_DVR_DIR: a folder, or its path on the SRS servers, =, and its path on this machine.
func sharedFolder(text string) (remote, local string, err error) {
	remote, local, two := strings.Cut(text, "=")
	if !two {
		local = remote
	}
	for _, folder := range []string{remote, local} {
		if text != "" && (!path.IsAbs(folder) || path.Clean(folder) == "/") {
			return "", "", fmt.Errorf("SRS_DVR_DIR: %q is not an absolute path of a folder, or /path/on/srs=/path/here", text)
		}
	}
	return remote, local, nil
}

// minSpool is the smallest RECORDING_SPOOL_MAX in bytes: some segments of a few streams.
const minSpool = 100 << 20

// mediaURL returns MEDIA_URL without a slash at the end.
func mediaURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if err := link("MEDIA_URL", text, "http", "https"); err != nil {
		return "", err
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", errors.New("MEDIA_URL: must have no user, query or fragment")
	}
	trimmed := strings.TrimRight(u.Path, "/")
	if trimmed != "" && path.Clean(trimmed) != trimmed || strings.Contains(trimmed, `\`) || u.RawPath != "" {
		return "", errors.New("MEDIA_URL: its path must have no dots, empty parts or escaped slashes")
	}
	return strings.TrimRight(text, "/"), nil
}

// storage returns the configuration of the file storage.
func (c *config) storage() blob.Config {
	return blob.Config{
		URL: c.StorageURL, Dir: filepath.Join(c.DataDir, "files"), Redirect: c.StorageDelivery == deliveryRedirect,
		Keys:   blob.Keys{ID: c.AWSAccessKeyID, Secret: c.AWSSecretAccessKey, SessionToken: c.AWSSessionToken},
		Region: cmp.Or(c.AWSRegion, c.AWSDefaultRegion),
	}
}

// ladderWorkers reads LADDER_WORKERS.
func ladderWorkers(value string) (int, error) {
	if value == "" {
		return ladder.DefaultPlaces(), nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxLadderWorkers {
		return 0, fmt.Errorf("LADDER_WORKERS: %q is not a number from 0 to %d", value, maxLadderWorkers)
	}
	return n, nil
}
