package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/client"
)

// Longest times that the demo waits. On a machine that isn't overloaded each
// step takes moments.
const (
	demoRequestTimeout = 10 * time.Second
	demoStepTimeout    = 20 * time.Second
	demoOnAir          = 15 * time.Second
	demoPollEvery      = 100 * time.Millisecond
)

type demoCommand struct {
	URL    string `help:"The server's address. Default: PUBLIC_URL, else http://localhost:8080." placeholder:"URL"`
	Sample string `help:"The clip to publish; created with ffmpeg if it is missing."               default:"sample.mp4"`
	Keep   bool   `help:"Stay on air until Ctrl-C instead of some 15 seconds, to try the player."`
	Shop   bool   `help:"Run a live shopping show until Ctrl-C: products, links for host and viewer, a discount, an auction; then its replay."`
}

// Run plays through one broadcast or show as a new tenant, with the public API only.
func (c demoCommand) Run(ctx context.Context, e environment) error {
	base, err := c.server(e.environ)
	if err != nil {
		return &usageError{err}
	}
	requests := &http.Client{Timeout: demoRequestTimeout}
	calls, err := client.NewClientWithResponses(base, client.WithHTTPClient(requests))
	if err != nil {
		return &usageError{fmt.Errorf("--url: %w", err)}
	}
	d := &demo{out: e.out, url: base, sample: c.Sample, keep: c.Keep || c.Shop, http: requests, api: calls}
	if c.Shop {
		err = d.run(ctx, "One show", []demoStep{
			{"Sign up: a tenant, an API key, a webhook endpoint", d.signUp},
			{"Open a shop: a brand, products, a seller", d.openShop},
			{"Create a stream", d.createStream},
			{"Invite a host and a viewer", d.invite},
			{"Publish " + c.Sample + " with ffmpeg", d.publish},
			{"Sell", d.sell},
			{"End the show", d.replay},
		})
	} else {
		err = d.run(ctx, "One broadcast", []demoStep{
			{"Sign up: a tenant, an API key, a webhook endpoint", d.signUp},
			{"Create a stream", d.createStream},
			{"Publish " + c.Sample + " with ffmpeg", d.publish},
			{"Watch it live", d.watch},
			{"Stop ffmpeg", d.finish},
		})
	}
	if err != nil && ctx.Err() != nil {
		return errors.New("the demo was interrupted")
	}
	return err
}

// server returns the server's URL, without a slash at its end.
func (c demoCommand) server(environ []string) (string, error) {
	name, address := "--url", c.URL
	for _, line := range environ {
		if value, ok := strings.CutPrefix(line, "PUBLIC_URL="); ok && address == "" && value != "" {
			name, address = "PUBLIC_URL", value
		}
	}
	if address == "" {
		address = "http://localhost:8080"
	}
	return strings.TrimRight(address, "/"), link(name, address, "http", "https")
}

// demo is the state of one run.
type demo struct {
	out    io.Writer
	url    string
	sample string
	keep   bool
	http   *http.Client
	api    *client.ClientWithResponses

	apiKey   string
	shop     demoShop
	receiver *demoReceiver
	endpoint string
	stream   api.Stream
	encoder  *demoEncoder
	playback string
	// media is the URL of the list of segments.
	media string
}

// demoStep is one step of the demo.
type demoStep struct {
	title string
	do    func(ctx context.Context) error
}

// run does the steps one after the other.
func (d *demo) run(ctx context.Context, what string, steps []demoStep) error {
	defer d.cleanUp(context.WithoutCancel(ctx))
	fmt.Fprintf(d.out, "%s against %s\n", what, d.url)
	began := time.Now()
	for i, step := range steps {
		fmt.Fprintf(d.out, "\n%d. %s\n", i+1, step.title)
		start := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("step %d failed: %w", i+1, err)
		}
		d.line("took", seconds(time.Since(start)))
	}
	fmt.Fprintf(d.out, "\nAll of it works, in %s.\n", seconds(time.Since(began)))
	return nil
}

// line prints one result of a step.
func (d *demo) line(name, value string) { fmt.Fprintf(d.out, "   %-10s %s\n", name, value) }

func seconds(took time.Duration) string { return fmt.Sprintf("%.2f s", took.Seconds()) }

// signUp creates all credentials, and the endpoint that receives webhooks.
func (d *demo) signUp(ctx context.Context) error {
	health, err := d.api.GetHealthWithResponse(ctx)
	if err != nil || health.JSON200 == nil {
		return fmt.Errorf("no Showfloor server answers at %s: start one with `make run` in another terminal, "+
			"or name it with --url%s", d.url, because(err))
	}
	name := strings.ToLower(rand.Text()[:8])
	email := "demo-" + name + "@showfloor.example"
	login, err := created(d.api.RegisterWithResponse(ctx, api.RegistrationInput{
		TenantName: "Demo " + name, Name: "Demo", Email: email, Password: rand.Text(),
	}))
	if err != nil {
		return fmt.Errorf("register a tenant: %w", err)
	}
	d.shop.owner = login.Token
	d.line("tenant", login.Tenant.ID+", user "+email)

	key, err := created(d.api.CreateAPIKeyWithResponse(ctx, api.APIKeyInput{Name: "Demo"}, bearer(login.Token)))
	if err != nil {
		return fmt.Errorf("create an API key: %w", err)
	}
	if key.Key == nil {
		return errors.New("create an API key: the answer holds no key")
	}
	d.apiKey = *key.Key
	d.line("API key", key.Prefix+"…"+key.Last4)

	if d.receiver, err = newDemoReceiver(ctx); err != nil {
		return err
	}
	endpoint, err := created(d.api.CreateWebhookWithResponse(ctx, api.WebhookEndpointInput{
		URL: d.receiver.url, Events: []api.EventName{api.EventNameStreamStarted, api.EventNameStreamEnded},
	}, bearer(d.apiKey)))
	if err != nil {
		return fmt.Errorf("register a webhook endpoint: %w", err)
	}
	d.endpoint = endpoint.ID
	d.receiver.secret(endpoint.Secret)
	d.line("webhook", endpoint.ID+" to "+d.receiver.url)
	return nil
}

func (d *demo) createStream(ctx context.Context) error {
	mode := api.StreamModeLOWLATENCY
	recorded := len(d.shop.products) > 0 // a show has a replay
	in := api.StreamInput{Name: "Launch", Mode: &mode, RecordingEnabled: &recorded}
	s, err := created(d.api.CreateStreamWithResponse(ctx, in, bearer(d.apiKey)))
	if err != nil {
		return fmt.Errorf("create the stream: %w", err)
	}
	d.stream = *s
	d.line("stream", s.ID+", "+string(s.Mode)+", "+string(s.Status))
	d.line("ingest", s.IngestURL+"/"+maskedKey(s.StreamKey))
	return nil
}

// maskedKey hides most of a stream key, because the demo's output may end up in logs.
func maskedKey(key string) string {
	return "live_…" + key[max(0, len(key)-4):]
}

// publish starts the encoder and waits until the stream is live.
func (d *demo) publish(ctx context.Context) (err error) {
	if err := makeDemoSample(ctx, d.sample, d.line); err != nil {
		return err
	}
	d.line("command", fmt.Sprintf("ffmpeg -re -i %s -c copy -f flv %s/%s", d.sample, d.stream.IngestURL, maskedKey(d.stream.StreamKey)))
	if d.encoder, err = startDemoEncoder(d.sample, d.stream.IngestURL+"/"+d.stream.StreamKey); err != nil {
		return err
	}
	began := time.Now()
	live, err := d.await(ctx, api.StreamStatusLIVE)
	if err != nil {
		return err
	}
	d.line("status", fmt.Sprintf("%s after %s", live.Status, seconds(time.Since(began))))
	return nil
}

// await polls the stream until it has the status.
func (d *demo) await(ctx context.Context, want api.StreamStatus) (*api.Stream, error) {
	var last api.StreamStatus
	var s *api.Stream
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		if failure := d.encoder.failure(); failure != nil && want == api.StreamStatusLIVE {
			return false, failure
		}
		answer, err := d.api.GetStreamWithResponse(ctx, d.stream.ID, bearer(d.apiKey))
		if err != nil {
			return false, fmt.Errorf("ask for the stream: the server has gone: %w", err)
		}
		if answer.JSON200 == nil {
			return false, fmt.Errorf("ask for the stream: %w", refused(answer.StatusCode(), answer.ApplicationProblemJSONDefault))
		}
		s = answer.JSON200
		last = s.Status
		return last == want, nil
	})
	if errors.Is(err, errDemoTimeout) {
		return nil, fmt.Errorf("the stream is %s and not %s after %s: look at the server's log", last, want, seconds(demoStepTimeout))
	}
	return s, err
}

// finish stops the encoder and checks that the API, the playlist and the
// webhook report the end.
func (d *demo) finish(ctx context.Context) error {
	if d.keep {
		// Ctrl-C ended only the wait before; the checks still run.
		ctx = context.WithoutCancel(ctx)
	}
	if err := d.encoder.stop(); err != nil {
		return err
	}
	ended, err := d.await(ctx, api.StreamStatusENDED)
	if err != nil {
		return err
	}
	d.line("status", string(ended.Status))
	if err := d.checkSealed(ctx); err != nil {
		return err
	}
	d.line("playlist", "closed with #EXT-X-ENDLIST")
	return d.checkEvent(ctx, api.EventNameStreamEnded)
}

// checkEvent waits for the event about the stream and checks its signature.
func (d *demo) checkEvent(ctx context.Context, name api.EventName) error {
	event, err := d.receiver.await(ctx, name, d.stream.ID)
	if err != nil {
		return err
	}
	d.line("webhook", fmt.Sprintf("%s as %s, X-Service-Signature verified", name, event.delivery))
	return nil
}

// cleanUp stops ffmpeg and the listener and deletes the webhook endpoint.
func (d *demo) cleanUp(ctx context.Context) {
	if d.encoder != nil {
		_ = d.encoder.stop()
	}
	if d.endpoint != "" {
		ctx, cancel := context.WithTimeout(ctx, demoRequestTimeout)
		defer cancel()
		_, _ = d.api.DeleteWebhookWithResponse(ctx, d.endpoint, bearer(d.apiKey))
	}
	if d.receiver != nil {
		d.receiver.close()
	}
}

// bearer adds a token or key to each request.
func bearer(token string) client.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// creation is the type of the client's answers to a POST.
type creation[T any] interface {
	GetJSON201() *T
	GetApplicationProblemJSONDefault() *api.ProblemResponse
	StatusCode() int
}

// created returns the resource that a POST created, or the error.
func created[T any](answer creation[T], err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	if made := answer.GetJSON201(); made != nil {
		return made, nil
	}
	return nil, refused(answer.StatusCode(), answer.GetApplicationProblemJSONDefault())
}

func refused(status int, p *api.ProblemResponse) error {
	if p == nil {
		return fmt.Errorf("the server answered %d", status)
	}
	return fmt.Errorf("the server answered %d: %s (request %s)", status, p.Message, p.RequestID)
}

// because returns the text of a transport error without the URL, which the
// sentence before contains already.
func because(err error) string {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// errDemoTimeout is poll's error if the condition isn't met in time.
var errDemoTimeout = errors.New("not in time")

// poll calls ask until it returns true or an error, or demoStepTimeout is over.
func poll(ctx context.Context, ask func(context.Context) (bool, error)) error {
	deadline, cancel := context.WithTimeoutCause(ctx, demoStepTimeout, errDemoTimeout)
	defer cancel()
	ticker := time.NewTicker(demoPollEvery)
	defer ticker.Stop()
	for {
		yes, err := ask(deadline)
		switch {
		case deadline.Err() != nil:
			return context.Cause(deadline)
		case yes || err != nil:
			return err
		}
		select {
		case <-ticker.C:
		case <-deadline.Done():
			return context.Cause(deadline)
		}
	}
}
