package mail

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
)

// Letter is a mail to be written. Its texts may contain names that users have
// chosen: each text becomes one line, and none becomes markup.
type Letter struct {
	// TenantID is empty for recipients who belong to no tenant yet.
	TenantID string
	// Kind is the kind of mail, for the log. It never contains a secret.
	Kind string
	// To is one address.
	To      string
	Subject string
	// Opening and Closing are the paragraphs before and after code and link.
	Opening []string
	Code    string
	Link    *Link
	Closing []string
	// Until is when the mail becomes useless. It is not sent after that.
	Until time.Time
}

// Link is a link with its label.
type Link struct{ Label, URL string }

// content is the mail as it is sent. It is sealed while it is stored.
type content struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

//go:embed letter.html
var page string

// maxSubject is the longest subject, in characters, because names in it can be long.
const maxSubject = 150

// render returns the letter as text and as HTML.
func (l Letter) render() (content, error) {
	l.Subject = shorten(line(l.Subject), maxSubject)
	l.Opening, l.Closing = lines(l.Opening), lines(l.Closing)
	t, err := template.New("letter").Parse(page)
	if err != nil {
		return content{}, fmt.Errorf("read the letter's template: %w", err)
	}
	var html bytes.Buffer
	if err := t.Execute(&html, l); err != nil {
		return content{}, fmt.Errorf("write letter %s: %w", l.Kind, err)
	}
	return content{Subject: l.Subject, Text: l.text(), HTML: html.String()}, nil
}

func (l Letter) text() string {
	parts := append([]string(nil), l.Opening...)
	if l.Code != "" {
		parts = append(parts, "    "+l.Code)
	}
	if l.Link != nil {
		parts = append(parts, l.Link.Label+":\n"+l.Link.URL)
	}
	return strings.Join(append(parts, l.Closing...), "\n\n") + "\n"
}

func lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = line(t)
	}
	return out
}

// line replaces each run of white space and invisible characters by one space,
// since such characters can break a header or a paragraph, or reverse the
// direction of text.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == unicode.ReplacementChar
	}), " ")
}

func shorten(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
