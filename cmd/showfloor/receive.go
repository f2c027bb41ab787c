package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// receiveCommand is a tenant's server to try webhooks out.
type receiveCommand struct {
	Addr   string `default:"localhost:9000" help:"Where to listen, as host:port."`
	Secret string `env:"RECEIVE_SECRET" help:"The endpoint's signing secret; without it signatures are not checked."`
}

// maxWebhook is the largest delivery that is accepted, in bytes.
const maxWebhook = 1 << 20

// Run prints each webhook that arrives, until the context ends.
func (r receiveCommand) Run(ctx context.Context, e environment) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w; choose another port", err)
	}
	fmt.Fprintf(e.out, "listening for webhooks on http://%s\n", listener.Addr())
	srv := &http.Server{Handler: r.printer(e.out), ReadHeaderTimeout: time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

func (r receiveCommand) printer(out io.Writer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxWebhook))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		result := "signature not checked (no --secret)"
		if r.Secret != "" {
			result = "signature ok"
			if !signed(body, r.Secret, req.Header.Get("X-Service-Signature")) {
				result = "WRONG SIGNATURE"
				w.WriteHeader(http.StatusUnauthorized)
			}
		}
		var pretty bytes.Buffer
		if json.Indent(&pretty, body, "", "  ") != nil {
			pretty.Reset()
			fmt.Fprintf(&pretty, "%q", body)
		}
		h := req.Header
		fmt.Fprintf(out, "\n%s  %s  sequence %s  %s  %s\n%s\n", h.Get("X-Service-Event"), h.Get("X-Service-Event-Id"),
			h.Get("X-Service-Sequence"), h.Get("X-Service-Delivery"), result, &pretty)
	})
}

// signed checks X-Service-Signature like a receiver should: over the raw body,
// in constant time.
func signed(body []byte, secret, signature string) bool {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return hmac.Equal([]byte(signature), []byte("sha256="+hex.EncodeToString(m.Sum(nil))))
}
