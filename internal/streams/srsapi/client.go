// Package srsapi calls the HTTP API of SRS media servers.
package srsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of a call.
const (
	timeout     = 3 * time.Second // of each server's answer
	maxResponse = 64 << 10        // bytes
)

// clientNotFound is the code of an answer about an unknown client (ERROR_RTMP_CLIENT_NOT_FOUND of SRS).
const clientNotFound = 2049

// Client calls the SRS servers' APIs. It is safe for concurrent use.
type Client struct {
	servers []*url.URL
	http    *http.Client
}

// Parse reads a list of addresses, separated by commas, such as http://10.0.0.7:1985. An address may have a user and a
// password, which are sent as basic authentication.
func Parse(text string) ([]*url.URL, error) {
	var list []*url.URL
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimRight(strings.TrimSpace(one), "/"))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, errors.New("not a list of addresses such as http://10.0.0.7:1985, separated by commas, without a path")
		}
		list = append(list, u)
	}
	return list, nil
}

// New returns the client of these servers.
func New(servers []*url.URL) *Client {
	return &Client{servers: servers, http: &http.Client{
		Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Disconnect closes a client's connection, on all servers: the ids of clients are random, so no other client has the id. A
// connection that no server has is no error; a server that doesn't answer is one, unless another has closed the connection.
func (c *Client) Disconnect(ctx context.Context, _, clientID string) error {
	var errs []error
	for _, server := range c.servers {
		closed, err := c.disconnect(ctx, server, clientID)
		if closed {
			return nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("disconnect a client of SRS at %s: %w", server.Host, err))
		}
	}
	return errors.Join(errs...)
}

// disconnect returns false without an error if the server has no such client.
func (c *Client) disconnect(ctx context.Context, server *url.URL, clientID string) (closed bool, err error) {
	address := server.JoinPath("api", "v1", "clients", url.PathEscape(clientID))
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, address.String(), http.NoBody)
	if err != nil {
		return false, errors.New("the address can't be used")
	}
	res, err := c.http.Do(r)
	if err != nil {
		// The text of this error has the address, which may have a password.
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return false, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	var answer struct {
		Code *int `json:"code"`
	}
	switch {
	case res.StatusCode == http.StatusNotFound:
		return false, nil
	case res.StatusCode != http.StatusOK:
		return false, fmt.Errorf("it answered with status %d", res.StatusCode)
	case json.Unmarshal(body, &answer) != nil || answer.Code == nil:
		return false, errors.New("its answer is not one of SRS")
	case *answer.Code == clientNotFound:
		return false, nil
	case *answer.Code != 0:
		return false, fmt.Errorf("it answered with code %d", *answer.Code)
	}
	return true, nil
}
