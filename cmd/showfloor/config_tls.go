package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
)

// TLSSettings are the encrypted listeners and their certificates. They are a part
// of config; the type is exported because the library that parses config ignores
// unexported embedded structs.
type TLSSettings struct {
	HTTPSAddr     string `env:"HTTPS_ADDR"`
	HTTPSCertFile string `env:"HTTPS_CERT_FILE"`
	HTTPSKeyFile  string `env:"HTTPS_KEY_FILE"`

	RTMPSAddr     string `env:"RTMPS_ADDR"`
	RTMPSCertFile string `env:"RTMPS_CERT_FILE"`
	RTMPSKeyFile  string `env:"RTMPS_KEY_FILE"`
}

// checkTLS checks which of the settings are set, and fills in the default addresses
// for listeners with a certificate. checkServing reads the files.
func (c *config) checkTLS() error {
	for _, err := range []error{
		optional(address)("HTTPS_ADDR", c.HTTPSAddr),
		optional(address)("RTMPS_ADDR", c.RTMPSAddr),
		checkPair("HTTPS", &c.HTTPSAddr, ":8443", c.HTTPSCertFile, c.HTTPSKeyFile),
		checkPair("RTMPS", &c.RTMPSAddr, ":1936", c.RTMPSCertFile, c.RTMPSKeyFile),
	} {
		if err != nil {
			return err
		}
	}
	if c.HTTPSAddr != "" && c.HTTPSAddr == c.HTTPAddr {
		return errors.New("HTTPS_ADDR and HTTP_ADDR must not be the same")
	}
	if c.HTTPSAddr != "" && c.PublicURL == "" {
		return errors.New("HTTPS_ADDR needs PUBLIC_URL: write https:// and the host name in the certificate, with the port unless it is 443")
	}
	return nil
}

// checkPair checks the three settings that begin with name. With a certificate,
// addr becomes standard unless it is set.
func checkPair(name string, addr *string, standard, certFile, keyFile string) error {
	if (certFile == "") != (keyFile == "") {
		return fmt.Errorf("%[1]s_CERT_FILE and %[1]s_KEY_FILE must be set together", name)
	}
	if *addr != "" && certFile == "" {
		return fmt.Errorf("%[1]s_ADDR needs %[1]s_CERT_FILE and %[1]s_KEY_FILE (paths of PEM files)", name)
	}
	if certFile != "" && *addr == "" {
		*addr = standard
	}
	return nil
}

// tlsConfigs are the TLS configurations of both listeners; nil for a listener
// without a certificate.
type tlsConfigs struct {
	https, rtmps *tls.Config
	certificates []*certificate
}

// loadTLS loads the configured certificates. log gets a line for each later replacement.
func (c *config) loadTLS(log *slog.Logger) (t tlsConfigs, err error) {
	for _, listener := range []struct {
		name, addr, certFile, keyFile string
		config                        **tls.Config
	}{
		{"HTTPS", c.HTTPSAddr, c.HTTPSCertFile, c.HTTPSKeyFile, &t.https},
		{"RTMPS", c.RTMPSAddr, c.RTMPSCertFile, c.RTMPSKeyFile, &t.rtmps},
	} {
		if listener.addr == "" {
			continue
		}
		cert, err := loadCertificate(listener.name, listener.certFile, listener.keyFile, log)
		if err != nil {
			return t, &usageError{err}
		}
		*listener.config = &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12}
		t.certificates = append(t.certificates, cert)
	}
	return t, nil
}
