package smtptest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
)

// Mail is a received mail with its parts.
type Mail struct {
	// From and To are the envelope's.
	From, To string
	// Encrypted: it was received over TLS. UTF8: it was announced with SMTPUTF8.
	Encrypted, UTF8 bool
	Raw             []byte
	Header          mail.Header
	// Subject, Text and HTML are decoded.
	Subject, Text, HTML string
}

// read takes a multipart/alternative mail with a text and an HTML part apart.
func read(raw []byte) (Mail, error) {
	m := Mail{Raw: raw}
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return m, fmt.Errorf("read mail: %w", err)
	}
	m.Header = msg.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		return m, fmt.Errorf("read subject: %w", err)
	}
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		return m, fmt.Errorf("the mail is %q: %w", kind, err)
	}
	parts := multipart.NewReader(msg.Body, params["boundary"])
	for _, want := range []struct {
		kind string
		to   *string
	}{{"text/plain", &m.Text}, {"text/html", &m.HTML}} {
		part, err := parts.NextRawPart()
		if err != nil {
			return m, fmt.Errorf("read part: %w", err)
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil || kind != want.kind || params["charset"] != "UTF-8" {
			return m, fmt.Errorf("the part is %q %v: %w", kind, params, err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return m, fmt.Errorf("read part %s: %w", kind, err)
		}
		*want.to = string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	}
	return m, nil
}
