package fcm

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"showfloor/internal/outflow/push/provider"
)

const (
	scope = "https://www.googleapis.com/auth/firebase.messaging"
	// failurePause is how long after a failure the next request for an access token is made.
	failurePause = 5 * time.Second
	// freshAccess is the age of an access token up to which a refusal of it is not a matter of its age.
	freshAccess = time.Minute
)

// tokens are the access tokens of one service account, one at a time, each for an hour.
type tokens struct {
	config *jwt.Config
	client *http.Client
	now    func() time.Time
	// turn is held by the one caller that reads or requests the token.
	turn    chan struct{}
	current *oauth2.Token
	gotAt   time.Time
	// failure is the result of the latest request, if that failed less than failurePause ago.
	failure  *provider.Answer
	failedAt time.Time
}

func newTokens(c Config, a Account) *tokens {
	return &tokens{
		config: &jwt.Config{
			Email: a.ClientEmail, PrivateKey: []byte(a.PrivateKey), PrivateKeyID: a.PrivateKeyID, Scopes: []string{scope}, TokenURL: c.TokenURL,
		},
		client: &http.Client{
			Timeout: provider.Timeout,
			Transport: &http.Transport{
				TLSClientConfig: &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		now: c.Now, turn: make(chan struct{}, 1),
	}
}

func (t *tokens) close() { t.client.CloseIdleConnections() }

// get returns a valid access token.
func (t *tokens) get(ctx context.Context) (string, *provider.Answer) {
	ctx, cancel := context.WithTimeout(ctx, provider.Timeout)
	defer cancel()
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", &provider.Answer{Outcome: provider.Unreachable, Reason: "no access token in time"}
	}
	now := t.now()
	if t.current.Valid() {
		return t.current.AccessToken, nil
	}
	if t.failure != nil && now.Sub(t.failedAt) < failurePause {
		return "", t.failure
	}
	// Its own context: the token is for all callers, also if this one ends.
	fetched, err := t.config.TokenSource(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, t.client)).Token()
	if err != nil {
		t.failure, t.failedAt = failureOf(err), t.now()
		return "", t.failure
	}
	t.current, t.gotAt, t.failure = fetched, now, nil
	return fetched.AccessToken, nil
}

// drop forgets an access token that the provider refused, unless it is new. It reports whether get may return another one.
func (t *tokens) drop(refused string) bool {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	switch {
	case t.current == nil || t.current.AccessToken != refused:
		return true
	case t.now().Sub(t.gotAt) < freshAccess:
		return false
	}
	t.current = nil
	return true
}

// failureOf is the meaning of an error of the token's address. The error itself contains the answer, which may quote the request.
func failureOf(err error) *provider.Answer {
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	if !answered || refused.Response == nil {
		return &provider.Answer{Outcome: provider.Unreachable, Reason: "no access token: the token's address can't be reached or gives no token"}
	}
	var body struct {
		Error string `json:"error"` // RFC 6749, section 5.2
	}
	_ = json.Unmarshal(refused.Body, &body) // a body of another form has no code
	a := &provider.Answer{Status: refused.Response.StatusCode, Reason: provider.Reason("access token: " + body.Error)}
	switch {
	case a.Status == http.StatusTooManyRequests, a.Status >= http.StatusInternalServerError:
		a.Outcome = provider.Throttled
	case a.Status >= http.StatusBadRequest:
		a.Outcome = provider.CredentialFault
	default:
		a.Outcome = provider.Unreachable
	}
	return a
}
