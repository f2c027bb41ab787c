package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// requestFailed begins the text of an error that Describe doesn't know.
const requestFailed = "the request failed: "

// Describe returns the text of a transport error, without our own addresses.
func Describe(err error) string {
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, ErrPrivate):
		return ErrPrivate.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return fmt.Sprintf("no answer within %d seconds", int(Timeout.Seconds()))
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "the host name can't be resolved"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed before an answer came whole"
	case errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("no connection within %d seconds", int(connectTimeout.Seconds()))
	}
	if words := describeTLS(err); words != "" {
		return "TLS: " + words
	}
	return requestFailed + cause(err).Error()
}

// describeTLS returns the text of a TLS error, or "" if the error isn't one. It
// leaves out the certificate's own text, which may be long and contain anything.
func describeTLS(err error) string {
	var (
		host      x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		unproven  *tls.CertificateVerificationError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &host):
		return "the certificate is for another host"
	case errors.As(err, &authority):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &unproven):
		return "the certificate is not valid"
	case errors.As(err, &record):
		return "the endpoint doesn't speak TLS"
	}
	words, isTLS := strings.CutPrefix(cause(err).Error(), "tls: ")
	if !isTLS {
		return ""
	}
	return words
}

// cause removes what the transport wraps around an error: the tenant's URL and
// the addresses of both ends.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	for {
		op, ok := errors.AsType[*net.OpError](err)
		if !ok || op.Err == nil {
			return err
		}
		err = op.Err
	}
}
