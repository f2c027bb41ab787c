package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"showfloor/internal/base/blob"
)

// StorageSettings say where files are, and how clients get them. They are a part of config; the type is exported
// because the library that parses config ignores unexported embedded structs.
type StorageSettings struct {
	StorageURL      string `env:"STORAGE_URL"`
	StorageDelivery string `env:"STORAGE_DELIVERY" envDefault:"proxy"`
	MediaURL        string `env:"MEDIA_URL"`

	AWSAccessKeyID     string `env:"AWS_ACCESS_KEY_ID"`
	AWSSecretAccessKey string `env:"AWS_SECRET_ACCESS_KEY"`
	AWSSessionToken    string `env:"AWS_SESSION_TOKEN"`
	AWSRegion          string `env:"AWS_REGION"`
	AWSDefaultRegion   string `env:"AWS_DEFAULT_REGION"`
}

// Values of STORAGE_DELIVERY.
const (
	deliveryProxy    = "proxy"
	deliveryRedirect = "redirect"
)

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
	s.MediaURL, err = mediaURL(s.MediaURL)
	return err
}

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
