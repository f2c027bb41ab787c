package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeCertificate writes a self-signed certificate for a name and replaces the
// existing files.
func writeCertificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(file, kind string, content []byte) string {
		path := filepath.Join(dir, file)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

// TestARenewedCertificate checks that the new pair is used once both files are there.
// Before that, and with invalid files, the old one stays in use, with one line in the log.
func TestARenewedCertificate(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	dir, next := t.TempDir(), t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, "first.example")
	c, err := loadCertificate("HTTPS", certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	name := func() string {
		c.refresh()
		pair, err := c.get(nil)
		require.NoError(t, err)
		return pair.Leaf.DNSNames[0]
	}
	require.Equal(t, "first.example", name())

	newCert, newKey := writeCertificate(t, next, "renewed.example")
	require.NoError(t, os.Rename(newCert, certFile)) // the key follows later
	require.Equal(t, "first.example", name())
	require.Equal(t, "first.example", name())
	require.Equal(t, 1, strings.Count(log.String(), "the old one stays in use"), log.String())
	require.NoError(t, os.Rename(newKey, keyFile))
	require.Equal(t, "renewed.example", name())
	require.Contains(t, log.String(), "certificate replaced")

	require.NoError(t, os.Remove(keyFile))
	require.Equal(t, "renewed.example", name())
	require.Equal(t, 2, strings.Count(log.String(), "the old one stays in use"), log.String())
	writeCertificate(t, dir, "third.example")
	require.Equal(t, "third.example", name())
}

func TestCertificatesOfTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, "live.example")
	for name, environ := range map[string][]string{
		"no such file":   {"HTTPS_CERT_FILE=" + filepath.Join(dir, "missing.pem"), "HTTPS_KEY_FILE=" + keyFile},
		"swapped":        {"HTTPS_CERT_FILE=" + keyFile, "HTTPS_KEY_FILE=" + certFile},
		"RTMPS, no file": {"RTMPS_CERT_FILE=" + certFile, "RTMPS_KEY_FILE=" + filepath.Join(dir, "missing.pem")},
	} {
		c, err := loadConfig(append(environ, "PUBLIC_URL=https://live.example"))
		require.NoError(t, err, name)
		err = c.checkServing()
		require.ErrorContains(t, err, environ[0][:5]+"_CERT_FILE and "+environ[0][:5]+"_KEY_FILE: ", name)
		require.ErrorContains(t, err, "they must be PEM files that this process may read", name)
	}
	_, err := loadConfig([]string{"HTTPS_CERT_FILE=" + certFile, "HTTPS_KEY_FILE=" + keyFile})
	require.ErrorContains(t, err, "HTTPS_ADDR needs PUBLIC_URL: write https:// and the host name in the certificate")
	c, err := loadConfig([]string{"HTTPS_CERT_FILE=" + certFile, "HTTPS_KEY_FILE=" + keyFile, "PUBLIC_URL=https://live.example"})
	require.NoError(t, err)
	require.NoError(t, c.checkServing())
	require.Equal(t, ":8443", c.HTTPSAddr)
}
