package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"

	"showfloor/internal/base/netaddr"
)

// CDNSettings tell which requests come from a CDN whose logs are imported. They are a part of config; the type is exported because the
// library that parses config ignores unexported embedded structs.
type CDNSettings struct {
	CDNAddresses string `env:"CDN_ADDRESSES"`
	CDNSecret    string `env:"CDN_SECRET"`
}

// cdnHeader is the header in which a CDN sends CDN_SECRET.
const cdnHeader = "X-Cdn-Secret"

// shortestCDNSecret is the length of the shortest CDN_SECRET.
const shortestCDNSecret = 16

// readCDN parses them. TRUSTED_PROXIES must be parsed before.
func (c *config) readCDN() error {
	c.cdn.secret, c.cdn.trusted = c.CDNSecret, c.http.TrustedProxies
	if c.CDNSecret != "" && len(c.CDNSecret) < shortestCDNSecret {
		return errors.New("CDN_SECRET: needs at least 16 characters; openssl rand -hex 16 makes one")
	}
	var err error
	c.cdn.networks, err = readNetworks("CDN_ADDRESSES", c.CDNAddresses)
	return err
}

// cdns recognizes requests of CDNs.
type cdns struct {
	networks, trusted netaddr.Proxies
	secret            string
}

// Sent reports whether a CDN sent a request: with the secret, or from one of its addresses.
func (c cdns) Sent(r *http.Request) bool {
	if c.secret != "" {
		given, want := sha256.Sum256([]byte(r.Header.Get(cdnHeader))), sha256.Sum256([]byte(c.secret))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			return true
		}
	}
	return c.networks.Passed(r, c.trusted)
}
