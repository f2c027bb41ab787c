package handlers_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/testkit/apitest"
)

// keyGate is the gate of an RTMP server that knows one stream key.
type keyGate string

func (g keyGate) Publish(_ context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	if a.Key != string(g) {
		return hub.Broadcast{}, &rtmp.StatusError{Code: "NetStream.Publish.BadName", Description: "unknown key " + a.Key}
	}
	return hub.Broadcast{StreamID: "there"}, nil
}
func (keyGate) Rejected(context.Context, string, string) {}
func (keyGate) Unpublish(context.Context, string)        {}

// rtmpPlatform starts an RTMP server that knows one stream key, and returns its address before the key.
func rtmpPlatform(t *testing.T, key string) string {
	t.Helper()
	h := hub.New(hub.Config{})
	server, err := rtmp.New(rtmp.Config{Addr: "127.0.0.1:0", Hub: h, Gate: keyGate(key), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
		h.Close()
	})
	return "rtmp://" + server.Addr().String() + "/live/"
}

// silentPlatform accepts connections and says nothing until they are released. arrived gets a value for each.
func silentPlatform(t *testing.T) (address string, arrived <-chan struct{}, release func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	came, released := make(chan struct{}, 100), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			came <- struct{}{}
			work.Go(func() { <-released; _ = conn.Close() })
		}
	})
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(func() { _ = l.Close(); release(); work.Wait() })
	return "rtmp://" + l.Addr().String() + "/live/", came, release
}

func TestTestingARestreamTarget(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	address := rtmpPlatform(t, "the-right-key")
	target := owner.RestreamTarget(t, address+"the-right-key")
	at := targetsPath + "/" + target.ID + "/test"

	var got api.RestreamTargetTest
	answer := owner.Call(t, "POST", at, nil)
	answer.Into(t, 201, &got)
	require.True(t, got.KeyAccepted.MustGet())
	require.Equal(t, "the target accepted the stream", got.Message)
	require.Contains(t, got.TargetAnswer.MustGet(), "NetStream.Publish.Start")
	require.Len(t, got.Steps, 5)
	for _, step := range got.Steps {
		require.True(t, step.Succeeded && step.Failure.IsNull())
	}
	require.NotContains(t, string(answer.Body), "the-right-key")

	owner.Call(t, "PATCH", targetsPath+"/"+target.ID, map[string]any{"rtmpUrl": address + "a-wrong-key"}).Is(t, 200)
	answer = owner.Call(t, "POST", at, nil)
	answer.Into(t, 201, &got)
	require.False(t, got.KeyAccepted.MustGet())
	require.Equal(t, "the target refused the stream: NetStream.Publish.BadName: unknown key ***", got.Message)
	require.NotContains(t, string(answer.Body), "a-wrong-key")

	s.Register(t).Call(t, "POST", at, nil).Problem(t, 404, "not_found")
	st := owner.Stream(t, nil)
	owner.Call(t, "POST", restreamPath+st.ID, attach(target)).Is(t, 201)
	owner.Call(t, "POST", at, nil).Problem(t, 409, "target_in_use")
	owner.Call(t, "DELETE", restreamPath+st.ID+"/"+target.ID, nil).Is(t, 200)
	owner.Call(t, "POST", at, nil).Is(t, 201)
	owner.Call(t, "POST", restreamPath+st.ID, attach(target)).Is(t, 201)
	owner.Call(t, "DELETE", targetsPath+"/"+target.ID, nil).Is(t, 200)
	owner.Call(t, "POST", at, nil).Problem(t, 404, "not_found")

	broken := owner.RestreamTarget(t, address+"the-right-key")
	_, err := s.Pool.Exec(t.Context(), "UPDATE restream_targets SET address = 'x' WHERE id = $1", broken.ID)
	require.NoError(t, err)
	owner.Call(t, "POST", targetsPath+"/"+broken.ID+"/test", nil).Problem(t, 400, "invalid_input")
}

// TestTestsAreBounded: two of a tenant at a time, one of a target, and no route to the target meanwhile.
func TestTestsAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	address, arrived, release := silentPlatform(t)
	targets := []api.RestreamTarget{owner.RestreamTarget(t, address+"1"), owner.RestreamTarget(t, address+"2"), owner.RestreamTarget(t, address+"3")}
	var work sync.WaitGroup
	test := func(target api.RestreamTarget) {
		work.Go(func() { assert.Equal(t, 201, owner.Call(t, "POST", targetsPath+"/"+target.ID+"/test", nil).Status) })
		<-arrived
	}
	test(targets[0])
	owner.Call(t, "POST", targetsPath+"/"+targets[0].ID+"/test", nil).Problem(t, 409, "target_under_test")
	st := owner.Stream(t, nil)
	owner.Call(t, "POST", restreamPath+st.ID, attach(targets[0])).Problem(t, 409, "target_under_test")
	test(targets[1])
	owner.Call(t, "POST", targetsPath+"/"+targets[2].ID+"/test", nil).Problem(t, 429, "too_many_tests")
	good := other.RestreamTarget(t, rtmpPlatform(t, "key")+"key")
	other.Call(t, "POST", targetsPath+"/"+good.ID+"/test", nil).Is(t, 201)
	release()
	work.Wait()
	owner.Call(t, "POST", restreamPath+st.ID, attach(targets[0])).Is(t, 201)
}

// TestAnAbandonedTest of a server that was killed keeps routes away for a few seconds only.
func TestAnAbandonedTest(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	target := owner.RestreamTarget(t, rtmpPlatform(t, "key")+"key")
	_, err := s.Pool.Exec(t.Context(), "UPDATE restream_targets SET test_until = $2 WHERE id = $1", target.ID, s.Clock.Now().Add(20*time.Second))
	require.NoError(t, err)
	at := targetsPath + "/" + target.ID + "/test"
	owner.Call(t, "POST", at, nil).Problem(t, 409, "target_under_test")
	s.Clock.Advance(21 * time.Second)
	owner.Call(t, "POST", at, nil).Is(t, 201)
}

func TestPrivateTargetsAreNotTested(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Production: true})
	owner := s.Register(t)
	target := owner.RestreamTarget(t, "rtmp://private.example/live/key")
	at := targetsPath + "/" + target.ID + "/test"
	for address, want := range map[string]string{"rtmp://127.0.0.1:1/live/key": "private", "rtmp://0x7f.1:1/live/key": ""} {
		_, err := s.Pool.Exec(t.Context(), "UPDATE restream_targets SET address = $2 WHERE id = $1", target.ID,
			s.Box.Seal([]byte(address), "restream_targets/"+target.ID))
		require.NoError(t, err)
		got := owner.Call(t, "POST", at, nil)
		if want != "" {
			got.Problem(t, 400, "invalid_input")
			continue
		}
		var result api.RestreamTargetTest
		got.Into(t, 201, &result)
		require.True(t, result.KeyAccepted.IsNull())
		require.NotContains(t, string(got.Body), "0x7f")
	}
}
