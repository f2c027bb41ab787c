package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// recheckCertificate is how often the files are looked at for a renewal.
const recheckCertificate = time.Minute

// certificate serves a certificate from two PEM files and follows their
// renewal, so that nobody has to restart the server for it.
type certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	current *tls.Certificate
	changed time.Time
	checked time.Time
}

func loadCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if err := c.reload(); err != nil {
		return nil, fmt.Errorf("RTMPS_CERT_FILE and RTMPS_KEY_FILE: %w", err)
	}
	return c, nil
}

// get is for tls.Config.GetCertificate. A renewal that can't be read leaves the
// old certificate in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) > recheckCertificate {
		_ = c.reload()
	}
	return c.current, nil
}

func (c *certificate) reload() error {
	c.checked = time.Now()
	info, err := os.Stat(c.certFile)
	if err != nil {
		return err
	}
	if c.current != nil && info.ModTime().Equal(c.changed) {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current, c.changed = &pair, info.ModTime()
	return nil
}

// rtmpTLS is the certificate of RTMPS; nil when none is configured.
func (c *config) rtmpTLS() (*tls.Config, error) {
	if c.RTMPSAddr == "" {
		return nil, nil
	}
	cert, err := loadCertificate(c.RTMPSCertFile, c.RTMPSKeyFile)
	if err != nil {
		return nil, &usageError{err}
	}
	return &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12}, nil
}
