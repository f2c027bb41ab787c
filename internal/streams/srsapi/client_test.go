package srsapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/streams/srsapi"
)

// answers starts a server that answers each request in the same way, and returns its address and the requests.
func answers(t *testing.T, status int, body string) (address string, requests *[]string) {
	t.Helper()
	requests = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		*requests = append(*requests, r.Method+" "+r.URL.EscapedPath()+" "+user+":"+password)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func TestAnswersOfServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		fails  string
	}{
		"closed":         {200, `{"code":0,"server":"vid-1"}`, ""},
		"unknown client": {200, `{"code":2049}`, ""},
		"not found":      {404, ``, ""},
		"other code":     {200, `{"code":1000}`, "code 1000"},
		"no code":        {200, `{}`, "not one of SRS"},
		"no JSON":        {200, `<html>`, "not one of SRS"},
		"refused":        {401, ``, "status 401"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := answers(t, c.status, c.body)
			servers, err := srsapi.Parse(strings.Replace(address, "http://", "http://ada:secret@", 1) + "/")
			require.NoError(t, err)
			err = srsapi.New(servers).Disconnect(t.Context(), "vid-1", "c/1")
			require.Equal(t, []string{"DELETE /api/v1/clients/c%2F1 ada:secret"}, *requests)
			if c.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fails)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestOneOfSeveralServersHasTheClient(t *testing.T) {
	t.Parallel()
	other, _ := answers(t, 200, `{"code":2049}`)
	has, requests := answers(t, 200, `{"code":0}`)
	gone := "http://ada:secret@127.0.0.1:1"
	servers, err := srsapi.Parse(gone + ", " + other + "," + has)
	require.NoError(t, err)
	require.NoError(t, srsapi.New(servers).Disconnect(t.Context(), "", "c1"))
	require.Len(t, *requests, 1)

	servers, err = srsapi.Parse(gone + "," + other)
	require.NoError(t, err)
	err = srsapi.New(servers).Disconnect(t.Context(), "", "c1")
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret")
}

func TestAddressesThatCantBeUsed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "10.0.0.7:1985", "ftp://host", "http://host/api", "http://host?a=b", "http://a,", "http://"} {
		_, err := srsapi.Parse(text)
		require.Error(t, err, text)
	}
}
