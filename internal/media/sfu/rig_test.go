package sfu_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// testGate is a gate whose tokens are "<user>" or "<user>:<role>". Tests control its decisions.
type testGate struct {
	server *sfu.Server

	mu     sync.Mutex
	grants map[string]sfu.Grant // by room and user
	refuse map[string]*sfu.ClientError
	late   map[string]func(g *sfu.Grant) // by user: a change of the grant after Enter has returned
	leaves []sfu.Connection
	waits  bool
	kind   string // of the rooms
	info   map[string]any
}

// Identify treats tokens that begin with "bad" as invalid. Any other token is for the room that it
// names after an @, or for sess_1.
func (d *testGate) Identify(_ context.Context, token string) (tenantID, roomID string, err error) {
	if strings.HasPrefix(token, "bad") {
		return "", "", &sfu.ClientError{Code: sfu.CodeUnauthenticated}
	}
	if _, room, named := strings.Cut(token, "@"); named {
		return tenantOf(token), room, nil
	}
	return tenantOf(token), "sess_1", nil
}

func (d *testGate) Enter(_ context.Context, e sfu.Entry) (sfu.Grant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	user, role, _ := strings.Cut(e.Token, ":")
	if r := d.refuse[user]; r != nil {
		return sfu.Grant{}, r
	}
	if role == "" {
		role = "guest"
	}
	key := e.RoomID + "/" + user
	g, known := d.grants[key]
	if !known {
		g = sfu.Grant{
			TenantID: tenantOf(e.Token), RoomID: e.RoomID, UserID: user, DisplayName: strings.ToUpper(user), Role: role, Perms: permsOf(role),
			State: "joined", Room: sfu.RoomInfo{Kind: d.kind, Session: d.info},
		}
		if d.waits && role != "host" {
			g.State, g.Perms = "waiting", sfu.Perms{}
		}
	}
	g.ConnID = e.ConnID
	d.grants[key] = g
	if f := d.late[user]; f != nil {
		now := g
		f(&now)
		d.grants[key] = now
	}
	return g, nil
}

func (d *testGate) Entered(_ context.Context, c sfu.Connection) {
	d.change(c.RoomID, c.UserID, func(*sfu.Grant) {})
}

func (d *testGate) Leave(_ context.Context, c sfu.Connection) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leaves = append(d.leaves, c)
	return nil
}

func (d *testGate) SetMuted(_ context.Context, c sfu.Connection, muted bool) error {
	d.change(c.RoomID, c.UserID, func(g *sfu.Grant) { g.Muted = muted })
	return nil
}

// change changes a participant's grant, and applies it in the server.
func (d *testGate) change(room, user string, f func(g *sfu.Grant)) {
	d.mu.Lock()
	g := d.grants[room+"/"+user]
	f(&g)
	d.grants[room+"/"+user] = g
	d.mu.Unlock()
	d.server.Apply(g)
}

func (d *testGate) grant(user string) sfu.Grant {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.grants["sess_1/"+user]
}

func (d *testGate) leftBy() []sfu.Connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.leaves)
}

// counts returns the id of a user's valid connection.
func (d *testGate) counts(room, user string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.grants[room+"/"+user].ConnID
}

func (d *testGate) left() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var users []string
	for _, c := range d.leaves {
		users = append(users, c.UserID)
	}
	return users
}

// tenantOf returns the tenant of a token: ten_2 for users whose name begins with "other".
func tenantOf(token string) string {
	if strings.HasPrefix(token, "other") {
		return "ten_2"
	}
	return "ten_1"
}

func permsOf(role string) sfu.Perms {
	switch role {
	case "host", "cohost":
		return sfu.Perms{Audio: true, Video: true, Screen: true}
	case "guest":
		return sfu.Perms{Audio: true, Video: true}
	}
	return sfu.Perms{}
}

// rig is a server with a testGate, on loopback.
type rig struct {
	*testGate

	server *sfu.Server
	url    string
}

func newRig(t testing.TB, change func(*sfu.Config)) *rig {
	t.Helper()
	d := &testGate{kind: sfu.SessionRoom, grants: map[string]sfu.Grant{}, refuse: map[string]*sfu.ClientError{}, info: map[string]any{"layout": "grid", "locked": false}}
	c := sfu.Config{
		Addr: "127.0.0.1:0", Gate: d, Limits: sfu.Limits{AddressJoins: -1, RoomJoins: -1},
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if change != nil {
		change(&c)
	}
	server, err := sfu.New(c)
	require.NoError(t, err)
	d.server = server
	require.NoError(t, server.Start())
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
		require.NoError(t, server.Stop(ctx))
		web.Close()
		require.Zero(t, server.Stats().Panics, "the server recovered from a panic; its stack is above")
	})
	return &rig{testGate: d, server: server, url: "ws" + strings.TrimPrefix(web.URL, "http")}
}

// join joins a participant. Every message is validated against the schema.
func (r *rig) join(t testing.TB, token string, change ...func(*sfutest.Options)) *sfutest.Client {
	t.Helper()
	return sfutest.Join(t, r.options(t, token, change...))
}

func (r *rig) options(t testing.TB, token string, change ...func(*sfutest.Options)) sfutest.Options {
	t.Helper()
	o := sfutest.Options{URL: r.url, Token: token, Room: "sess_1", Check: checkMessage(t)}
	for _, f := range change {
		f(&o)
	}
	return o
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("timed out waiting for " + what)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// checkMessage validates messages against docs/signalling.schema.json. Messages that a test sends
// in order to be refused aren't checked.
func checkMessage(t testing.TB) func(bool, []byte) {
	t.Helper()
	schemas := schemas()
	return func(fromServer bool, data []byte) {
		if !fromServer && !json.Valid(data) {
			return
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err == nil && fromServer {
			err = schemas.server.Validate(value)
		} else if kind := typeOf(value); err == nil && kind != "" && !strings.HasPrefix(kind, "x-") {
			err = schemas.client.Validate(value)
		}
		if err != nil {
			t.Errorf("a message is not as docs/signalling.schema.json says: %.300s\n%v", data, err)
		}
	}
}

func typeOf(value any) string {
	object, _ := value.(map[string]any)
	kind, _ := object["type"].(string)
	return kind
}

type messageSchemas struct{ server, client *jsonschema.Schema }

var schemas = sync.OnceValue(func() messageSchemas {
	c := jsonschema.NewCompiler()
	const path = "../../../docs/signalling.schema.json"
	return messageSchemas{c.MustCompile(path + "#/$defs/ServerMessage"), c.MustCompile(path + "#/$defs/ClientMessage")}
})
