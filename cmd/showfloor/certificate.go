package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// recheckCertificate is the shortest time after which a handshake checks the files
// for a renewal again.
const recheckCertificate = time.Second

// certificate serves a certificate from two PEM files. It loads renewed files
// without a restart of the server.
type certificate struct {
	// name is the prefix of the settings, HTTPS or RTMPS.
	name              string
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	// version is the state of the files (fileVersions) from which current was
	// loaded. failed is the state and the error of the last load that failed.
	version, failed string
	checked         time.Time
}

// loadCertificate loads both files. Its error names the settings and what to do.
func loadCertificate(name, certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{name: name, certFile: certFile, keyFile: keyFile, log: log}
	if err := c.reload(); err != nil {
		return nil, fmt.Errorf("%[1]s_CERT_FILE and %[1]s_KEY_FILE: %[2]w; they must be PEM files that this process may read, "+
			"the certificate with its intermediates first and the key that belongs to it", name, err)
	}
	return c, nil
}

// get is for tls.Config.GetCertificate. If a renewed certificate can't be loaded,
// the old one stays in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) > recheckCertificate {
		_ = c.reload() // it logs its errors
	}
	return c.current, nil
}

// refresh checks the files now.
func (c *certificate) refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.reload() // it logs its errors
}

// expiry returns the time at which the current certificate expires.
func (c *certificate) expiry() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Leaf.NotAfter
}

// reload loads the files if they have changed. A renewal writes one file after the other.
// Between the two they don't match; reload fails then, and a later one succeeds.
func (c *certificate) reload() error {
	c.checked = time.Now()
	version, err := fileVersions(c.certFile, c.keyFile)
	if err == nil && c.current != nil && version == c.version {
		return nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(c.certFile, c.keyFile)
	}
	switch {
	case err == nil:
		if c.current != nil {
			c.log.Info("certificate replaced", "setting", c.name+"_CERT_FILE", "notAfter", pair.Leaf.NotAfter)
		}
		c.current, c.version, c.failed = &pair, version, ""
	case c.current != nil && c.failed != version+err.Error():
		c.failed = version + err.Error() // so that each state of the files is logged once
		c.log.Warn("the new certificate can't be read, the old one stays in use", "setting", c.name+"_CERT_FILE", "error", err,
			"notAfter", c.current.Leaf.NotAfter)
	}
	return err
}

// fileVersions returns a text that changes when one of the files is written.
func fileVersions(files ...string) (string, error) {
	var b strings.Builder
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%d %d\n", info.ModTime().UnixNano(), info.Size())
	}
	return b.String(), nil
}

// followCertificates checks the files again on SIGHUP, which the hooks of renewal
// tools send, and warns of a certificate that can't be used.
func (s *server) followCertificates(ctx context.Context) error {
	if len(s.tls.certificates) == 0 {
		return nil
	}
	for _, c := range s.tls.certificates {
		s.metrics.gauge(strings.ToLower(c.name)+"_certificate_expires_seconds", "End of the "+c.name+" certificate's validity, in Unix time.",
			func() float64 { return float64(c.expiry().Unix()) })
		if !time.Now().Before(c.expiry()) {
			s.log.Warn("this certificate has expired: clients will refuse it", "setting", c.name+"_CERT_FILE", "notAfter", c.expiry())
		}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-hangups:
				for _, c := range s.tls.certificates {
					c.refresh()
				}
			case <-following.Done():
				return
			}
		}
	})
	s.onStop("certificates", func(context.Context) error {
		signal.Stop(hangups)
		stop()
		work.Wait()
		return nil
	})
	return nil
}
