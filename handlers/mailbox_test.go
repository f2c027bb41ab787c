package handlers_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMailboxListsUnsentMails(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	anonymous := s.With(t, "")
	require.JSONEq(t, "[]", string(anonymous.Call(t, "GET", "/mailbox/mails", nil).Is(t, 200).Body))
	first, second := newEmail(), newEmail()
	sendCode(t, s, first)
	code := sendCode(t, s, second)
	r := anonymous.Call(t, "GET", "/mailbox/mails", nil).Is(t, 200)
	require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	var list []struct{ ID, To, Kind, Subject, Text, At string }
	require.NoError(t, json.Unmarshal(r.Body, &list))
	require.Len(t, list, 2)
	require.Equal(t, []string{second, first}, []string{list[0].To, list[1].To}, "newest first")
	require.Equal(t, "signup_code", list[0].Kind)
	require.Contains(t, list[0].Text, code)

	letter := anonymous.Call(t, "GET", "/mailbox/mails/"+list[0].ID, nil).Is(t, 200)
	require.Contains(t, string(letter.Body), code)
	require.Contains(t, letter.Header.Get("Content-Security-Policy"), "sandbox")
	anonymous.Call(t, "GET", "/mailbox/mails/mail_none", nil).Problem(t, 404, "not_found")
}

// TestTheMailboxIsForThisMachine checks that requests through proxies, from
// pages with another host name and to production servers are refused.
func TestTheMailboxIsForThisMachine(t *testing.T) {
	t.Parallel()
	dev := apitest.New(t, apitest.Options{})
	production := apitest.New(t, apitest.Options{Production: true})
	for _, path := range []string{"/mailbox", "/mailbox/mails", "/mailbox/mails/mail_x"} {
		production.With(t, "").Call(t, "GET", path, nil).Problem(t, 404, "not_found")
		for name, value := range map[string]string{"X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.7", "Host": "evil.example:8080"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, dev.URL+path, nil)
			require.NoError(t, err)
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host = value
			}
			dev.With(t, "").Do(t, r).Problem(t, 404, "not_found")
		}
	}
}
