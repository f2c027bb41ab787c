package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// PushSettings are the addresses of the push providers; the empty ones are the providers' own.
type PushSettings struct {
	PushAPNSURL     string `env:"PUSH_APNS_URL"`
	PushFCMURL      string `env:"PUSH_FCM_URL"`
	PushFCMTokenURL string `env:"PUSH_FCM_TOKEN_URL"`
	PushCAFile      string `env:"PUSH_CA_FILE"`
}

// readPush checks them.
func (c *config) readPush() error {
	a := &c.areas.Push
	for _, s := range []struct {
		name, value string
		to          *string
	}{
		{"PUSH_APNS_URL", c.PushAPNSURL, &a.APNS}, {"PUSH_FCM_URL", c.PushFCMURL, &a.FCM}, {"PUSH_FCM_TOKEN_URL", c.PushFCMTokenURL, &a.FCMToken},
	} {
		if s.value == "" {
			continue
		}
		u, err := url.Parse(s.value)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
			return fmt.Errorf("%s: must be an address such as https://push.example", s.name)
		}
		*s.to = strings.TrimSuffix(s.value, "/")
	}
	if c.PushCAFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.PushCAFile)
	if err != nil {
		return fmt.Errorf("PUSH_CA_FILE: %w", err)
	}
	if a.Roots, err = x509.SystemCertPool(); err != nil {
		return fmt.Errorf("PUSH_CA_FILE: %w", err)
	}
	if !a.Roots.AppendCertsFromPEM(text) {
		return errors.New("PUSH_CA_FILE: holds no certificate in PEM")
	}
	return nil
}
