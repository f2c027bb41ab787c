package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/outflow/realtime"
	shows "showfloor/internal/shows/show"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
)

// publicShow reads a show without a token, a second later than the last time.
func publicShow(t *testing.T, s *apitest.Server, streamID string) (v api.Show) {
	t.Helper()
	s.Clock.Advance(time.Second)
	s.With(t, "").Call(t, "GET", "/v1/shows/"+streamID, nil).Into(t, 200, &v)
	return v
}

func productIDs(list []api.ShowProduct) []string {
	ids := make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ID
	}
	return ids
}

func TestAShowHasWhatAPageNeeds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	owner := sh.owner
	lamp := owner.Product(t, map[string]any{"externalId": "lamp", "stock": -1})
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Acme", "brand": map[string]any{"primaryColor": "#7A2048"}}).Is(t, 200)
	v := publicShow(t, s, sh.id)
	require.Equal(t, []string{lamp.ID, sh.mug.ID}, productIDs(v.Products), "the newest first")
	require.EqualValues(t, -1, v.Products[0].Remaining)
	require.False(t, v.Products[0].Low)
	require.EqualValues(t, 5, v.Products[1].Remaining)
	require.Equal(t, "Acme", v.Brand.Name)
	require.Equal(t, api.StreamStatusIDLE, v.Status)
	require.False(t, v.CanBuy)
	require.True(t, v.ReplayID.IsNull())
	require.Empty(t, v.Auctions)
	require.Empty(t, v.Drops)

	// The stream's own list, with what is pinned and in an auction behind it.
	vase := owner.Product(t, map[string]any{"externalId": "vase", "stock": 1})
	owner.Call(t, "PATCH", "/v1/me/streams/"+sh.id, map[string]any{"productIds": []string{sh.mug.ID}, "posterUrl": "https://cdn.example.test/p.jpg"}).Is(t, 200)
	auction := owner.Auction(t, map[string]any{"streamId": sh.id, "productId": vase.ID})
	owner.Call(t, "POST", "/v1/me/commerce/auctions/"+auction.ID+"/bid", map[string]any{
		"amountCents": 1200, "bidderExternalId": "bo", "bidderName": "Bo Lindqvist",
	}).Is(t, 201)
	sh.host.Call(t, "PUT", sh.path("/pin"), map[string]any{"productId": lamp.ID}).Is(t, 200)
	sh.host.Call(t, "POST", sh.path("/drops"), map[string]any{"code": "FLASH20", "percentOff": 20, "durationSec": 60}).Is(t, 201)
	owner.Discount(t, map[string]any{"code": "SECRET", "streamId": sh.id, "endsAt": s.Clock.Now().Add(time.Hour)})
	v = publicShow(t, s, sh.id)
	require.Equal(t, sh.mug.ID, v.Products[0].ID)
	require.ElementsMatch(t, []string{sh.mug.ID, lamp.ID, vase.ID}, productIDs(v.Products))
	pinned, err := v.PinnedProductID.Get()
	require.NoError(t, err)
	require.Equal(t, lamp.ID, pinned)
	require.Len(t, v.Auctions, 1)
	require.Equal(t, "Bo L.", v.Auctions[0].TopBidderName.MustGet())
	require.EqualValues(t, 1300, v.Auctions[0].MinimumBidCents)
	require.Len(t, v.Drops, 1, "a code that wasn't dropped stays secret")
	require.Equal(t, "FLASH20", v.Drops[0].Code)

	// An archived product is no longer pinned, a dropped code ends, and so does an auction.
	owner.Call(t, "DELETE", "/v1/me/catalog/products/"+lamp.ID, nil).Is(t, 200)
	s.Clock.Advance(time.Minute)
	v = publicShow(t, s, sh.id)
	require.True(t, v.PinnedProductID.IsNull())
	require.Empty(t, v.Drops)
}

func TestAShowIsReadOnceASecond(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	first := s.With(t, "").Call(t, "GET", "/v1/shows/"+sh.id, nil).Is(t, 200)
	require.Equal(t, "public, max-age=1", first.Header.Get("Cache-Control"))
	var before, after api.Show
	require.NoError(t, json.Unmarshal(first.Body, &before))
	sh.owner.Call(t, "PATCH", "/v1/me/streams/"+sh.id, map[string]any{"name": "Evening"}).Is(t, 200)
	s.Clock.Advance(999 * time.Millisecond)
	s.With(t, "").Call(t, "GET", "/v1/shows/"+sh.id, nil).Into(t, 200, &after)
	require.Equal(t, before.Name, after.Name)
	require.Equal(t, 999*time.Millisecond, after.ServerTime.Sub(before.ServerTime.Time), "the time is that of the answer")
	s.Clock.Advance(time.Millisecond)
	s.With(t, "").Call(t, "GET", "/v1/shows/"+sh.id, nil).Into(t, 200, &after)
	require.Equal(t, "Evening", after.Name)
}

func TestUnknownShowsAreMissing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	anonymous := s.With(t, "")
	for _, id := range []string{"str_01m18qg1mhf2bsz1fk6m8v4jxe", "x", sh.mug.ID, sh.owner.Session(t, nil).ID} {
		require.Equal(t, "show not found", anonymous.Call(t, "GET", "/v1/shows/"+id, nil).Problem(t, 404, "not_found").Message)
	}
	anonymous.Call(t, "GET", "/v1/shows/"+sh.id, nil).Is(t, 200)
	sh.owner.SetTenantStatus(t, tenancy.Suspended)
	s.Clock.Advance(time.Second)
	anonymous.Call(t, "GET", "/v1/shows/"+sh.id, nil).Problem(t, 404, "not_found")
}

func TestParticipantsWatchAShow(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	var first, second api.PlaybackURL
	sh.viewer.Call(t, "POST", sh.path("/playback-url"), nil).Into(t, 201, &first)
	sh.host.Call(t, "POST", sh.path("/playback-url"), nil).Into(t, 201, &second)
	require.Equal(t, first, second, "so that shared caches work")
	require.GreaterOrEqual(t, first.ExpiresAt.Sub(s.Clock.Now()), 5*time.Minute)
	require.Regexp(t, `^https://api\.example\.test/live/[\w-]+/thumbnail\.jpg$`, first.ThumbnailURL)
	require.True(t, first.DvrURL.IsNull())
	sh.viewer.Call(t, "POST", "/v1/me/shows/"+sh.owner.Stream(t, nil).ID+"/playback-url", nil).Problem(t, 404, "not_found")
	sh.owner.Call(t, "POST", "/v1/me/channels/"+sh.id+"/moderate/ban", map[string]any{"target": "bo", "by": "ada"}).Is(t, 201)
	sh.viewer.Call(t, "POST", sh.path("/playback-url"), nil).Problem(t, 403, "banned")
}

func TestOnlyTheHostActs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	cohost := sh.owner.Viewer(t, sh.id, "cleo", map[string]any{"role": "cohost"})
	other := newShow(t, s)
	acts := []struct {
		method, path string
		body         any
	}{
		{http.MethodPut, "/pin", map[string]any{"productId": sh.mug.ID}},
		{http.MethodPost, "/drops", map[string]any{"code": "FLASH20", "percentOff": 20, "durationSec": 60}},
		{http.MethodPost, "/stream-key", nil},
		{http.MethodPost, "/end", nil},
	}
	for _, act := range acts {
		sh.viewer.Call(t, act.method, sh.path(act.path), act.body).Problem(t, 403, "forbidden")
		cohost.Call(t, act.method, sh.path(act.path), act.body).Problem(t, 403, "forbidden")
		other.host.Call(t, act.method, sh.path(act.path), act.body).Problem(t, 404, "not_found")
		sh.owner.Call(t, act.method, sh.path(act.path), act.body).Problem(t, 401, "unauthenticated")
		require.Less(t, sh.host.Call(t, act.method, sh.path(act.path), act.body).Status, 300, act.path)
	}
}

func TestTheHostPinsAProduct(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	st := publish(t, s, sh.owner)
	host := sh.owner.Viewer(t, st.ID, "ada", map[string]any{"role": "host"})
	lamp := sh.owner.Product(t, map[string]any{"externalId": "lamp"})
	at := "/v1/me/shows/" + st.ID + "/pin"
	pin := func(productID any) apitest.Response {
		return host.Call(t, "PUT", at, map[string]any{"productId": productID})
	}
	pin(nil).Is(t, 200)
	for range 2 {
		pin(sh.mug.ID).Is(t, 200)
	}
	pin(lamp.ID).Is(t, 200)
	require.Equal(t, lamp.ID, publicShow(t, s, st.ID).PinnedProductID.MustGet())
	var none api.ShowPin
	for range 2 {
		pin(nil).Into(t, 200, &none)
		require.True(t, none.ProductID.IsNull())
	}
	require.True(t, publicShow(t, s, st.ID).PinnedProductID.IsNull())
	require.Equal(t, "product not found", pin(newShow(t, s).mug.ID).Problem(t, 404, "not_found").Message)
	pin("").Problem(t, 404, "not_found")
	sh.owner.Call(t, "DELETE", "/v1/me/catalog/products/"+lamp.ID, nil).Is(t, 200)
	pin(lamp.ID).Problem(t, 409, "conflict")
	var sent []any
	for _, p := range s.Published() {
		if p.Room == st.ID && p.Type == realtime.ProductPin {
			sent = append(sent, p.Data["id"])
		}
	}
	require.Equal(t, []any{sh.mug.ID, lamp.ID, ""}, sent, "a repeated pin is not sent again")

	// A pin of an earlier broadcast doesn't count in the next one.
	pin(sh.mug.ID).Is(t, 200)
	host.Call(t, "POST", "/v1/me/shows/"+st.ID+"/end", nil).Is(t, 201)
	require.Equal(t, sh.mug.ID, publicShow(t, s, st.ID).PinnedProductID.MustGet())
	s.Clock.Advance(2 * time.Hour)
	publishFrom(t, s, st, stream.SourceRTMP)
	require.True(t, publicShow(t, s, st.ID).PinnedProductID.IsNull())
}

func TestTheHostReplacesTheKeyAndEndsTheShow(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := publish(t, s, owner)
	host := owner.Viewer(t, st.ID, "ada", map[string]any{"role": "host"})
	var key api.ShowStreamKey
	host.Call(t, "POST", "/v1/me/shows/"+st.ID+"/stream-key", nil).Into(t, 201, &key)
	require.NotEqual(t, st.StreamKey, key.StreamKey)
	require.Equal(t, st.IngestURL, key.IngestURL)
	require.Equal(t, api.StreamStatusLIVE, publicShow(t, s, st.ID).Status, "the broadcast goes on")
	for range 2 {
		var state api.ShowState
		host.Call(t, "POST", "/v1/me/shows/"+st.ID+"/end", nil).Into(t, 201, &state)
		require.Equal(t, api.StreamStatusENDED, state.Status)
	}
	_, err := s.Streams.Publish(t.Context(), stream.Attempt{PublisherID: "pub_1", Source: stream.SourceRTMP, Key: key.StreamKey, RemoteIP: "192.0.2.1"})
	require.Error(t, err, "the key is refused for some minutes")
	var actions []string
	rows, err := s.Pool.Query(t.Context(), "SELECT action FROM audit_entries WHERE tenant_id = $1 AND actor_type = 'participant' AND actor_id = 'ada' ORDER BY id",
		owner.TenantID)
	require.NoError(t, err)
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"stream.rotate_key", "stream.force_stop"}, actions)

	idle := owner.Stream(t, nil)
	var state api.ShowState
	owner.Viewer(t, idle.ID, "ada", map[string]any{"role": "host"}).Call(t, "POST", "/v1/me/shows/"+idle.ID+"/end", nil).Into(t, 201, &state)
	require.Equal(t, api.StreamStatusIDLE, state.Status)
}

func TestAuctionsArePublished(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	a := sh.owner.Auction(t, map[string]any{"streamId": sh.id})
	sh.owner.Call(t, "POST", "/v1/me/commerce/auctions/"+a.ID+"/cancel", nil).Is(t, 201)
	a = sh.owner.Auction(t, map[string]any{"streamId": sh.id, "durationSec": 1})
	sh.owner.Bid(t, a.ID, 1500).Is(t, 201)
	apitest.Until(t, "the auction's end", func() bool {
		wait, err := s.Auctions.SettleAuction(t.Context(), sh.owner.TenantID, a.ID)
		return err == nil && wait == 0
	})
	var got [][3]any
	for _, p := range s.Published() {
		if p.Room == sh.id && (p.Type == realtime.AuctionStarted || p.Type == realtime.AuctionEnded) {
			got = append(got, [3]any{p.Type, p.Data["status"], p.Data["topBidCents"]})
		}
	}
	require.Equal(t, [][3]any{
		{realtime.AuctionStarted, "LIVE", nil}, {realtime.AuctionEnded, "CANCELLED", nil},
		{realtime.AuctionStarted, "LIVE", nil}, {realtime.AuctionEnded, "ENDED", 1500.0},
	}, got)
	require.Len(t, publicShow(t, s, sh.id).Auctions, 2)
}

func TestHeadOfThePages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	r := tape(t, s, s.Register(t))
	r.owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{
		"name": "Acme", "brand": map[string]any{"primaryColor": "#7a2048", "logoUrl": "https://cdn.example/l.svg"},
		"embedOrigins": []string{"https://shop.example"},
	}).Is(t, 200)
	r.owner.Call(t, "PATCH", "/v1/me/streams/"+r.st.ID, map[string]any{"posterUrl": "https://cdn.example/p.jpg"}).Is(t, 200)
	sess := r.owner.Session(t, nil)
	s.Clock.Advance(time.Second)
	head := func(page shows.PageAddress) shows.PageHead { return s.Shows.PageHead(t.Context(), page) }
	tenant := shows.PageHead{
		SiteName: "Acme", LogoURL: "https://cdn.example/l.svg", ThemeColor: "#7a2048", FrameOrigins: []string{"https://shop.example"},
	}
	live, replay := tenant, tenant
	live.Title, live.Description, live.Image, live.OnAir = "Launch", "A live show by Acme", "https://cdn.example/p.jpg", true
	replay.Title, replay.Description, replay.Image = "Launch", "A replay by Acme", "https://cdn.example/p.jpg"
	require.Equal(t, live, head(shows.PageAddress{Room: r.st.ID}))
	require.Equal(t, replay, head(shows.PageAddress{Recording: r.rec.ID}))
	require.Equal(t, tenant, head(shows.PageAddress{Room: sess.ID}), "a session's name is only for its participants")
	r.setPublic(t, s, false)
	require.Equal(t, tenant, head(shows.PageAddress{Recording: r.rec.ID}), "it is not public")
	for _, unknown := range []string{"", "x", "str_01m18qg1mhf2bsz1fk6m8v4jxe", "rec_01m18qg1mhf2bsz1fk6m8v4jxe", "sess_01m18qg1mhf2bsz1fk6m8v4jxe"} {
		require.Zero(t, head(shows.PageAddress{Room: unknown}))
		require.Zero(t, head(shows.PageAddress{Recording: unknown}))
		require.Zero(t, head(shows.PageAddress{Playlist: unknown}))
		require.Zero(t, head(shows.PageAddress{Room: r.st.ID, DVR: "https://evil.example/vod/x/y/index.m3u8"}))
	}
	other := s.Register(t)
	require.NotEqual(t, "Acme", head(shows.PageAddress{Room: other.Session(t, nil).ID}).SiteName)
	r.owner.SetTenantStatus(t, tenancy.Suspended)
	s.Clock.Advance(time.Second)
	require.Zero(t, head(shows.PageAddress{Room: r.st.ID}))
	require.Zero(t, head(shows.PageAddress{Room: sess.ID}))
}

// TestHeadOfThePlayer checks that only a URL that this server has signed shows the brand of its tenant.
func TestHeadOfThePlayer(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	r := tape(t, s, s.Register(t))
	r.owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Acme"}).Is(t, 200)
	r.setPublic(t, s, false)
	var live api.PlaybackURL
	var recorded api.RecordingPlaybackURL
	r.owner.Call(t, "POST", "/v1/me/streams/"+r.st.ID+"/playback-url", nil).Into(t, 201, &live)
	r.owner.Call(t, "GET", "/v1/me/recordings/"+r.rec.ID+"/playback-url", nil).Into(t, 200, &recorded)
	pathOf := func(playback string) string {
		u, err := url.Parse(playback)
		require.NoError(t, err)
		return u.Path
	}
	inRoom, _ := s.Streams.RoomPlaybackURL(r.st.ID)
	s.Clock.Advance(2 * time.Hour) // they have expired
	name := func(playlist string) string {
		return s.Shows.PageHead(t.Context(), shows.PageAddress{Playlist: playlist}).SiteName
	}
	for _, known := range []string{live.URL, inRoom, recorded.URL, live.URL + "?viewer=1", pathOf(live.URL)} {
		require.Equal(t, "Acme", name(known), known)
	}
	path := pathOf(recorded.URL)
	for _, foreign := range []string{
		"https://evil.example" + path, "//evil.example" + path, `/\evil.example` + path, "/\t/evil.example" + path, "javascript:" + path,
		strings.Replace(recorded.URL, "://", "://evil@", 1), strings.Replace(recorded.URL, r.rec.ID, r.rec.ID+"/..", 1),
		strings.Replace(recorded.URL, r.rec.ID, "rec_01m18qg1mhf2bsz1fk6m8v4jxe", 1), strings.Replace(recorded.URL, "/vod/", "/live/", 1),
		strings.Replace(live.URL, "/live/", "/live/A", 1), path + "/../../x", strings.TrimSuffix(path, "index.m3u8"),
	} {
		require.Empty(t, name(foreign), foreign)
	}
}

func TestViewersGetTheStateOfAShow(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	st := owner.Stream(t, nil)
	c := hears(t, s, owner.Viewer(t, st.ID, "bo", nil).Token, st.ID)
	hears(t, s, owner.Token, owner.Session(t, nil).ID)
	s.PublishUpdates(t)
	require.Equal(t, map[string]any{"status": "IDLE", "viewerCount": 0.0}, c.NextType(t, realtime.ShowUpdated).Data)
	publishFrom(t, s, st, stream.SourceRTMP)
	s.PublishUpdates(t) // too early
	s.Clock.Advance(2 * time.Second)
	s.PublishUpdates(t)
	require.Equal(t, "LIVE", c.NextType(t, realtime.ShowUpdated).Data["status"])
	s.Clock.Advance(2 * time.Second)
	s.PublishUpdates(t)
	require.NoError(t, s.Streams.ForceStopStream(t.Context(), audit.System("test"), st.ID, "enough"))
	s.PublishUpdates(t)
	require.Equal(t, "ENDED", c.NextType(t, realtime.ShowUpdated).Data["status"], "an unchanged state is not sent again")
	var sent int
	for _, p := range s.Published() {
		if p.Type == realtime.ShowUpdated {
			sent++
		}
	}
	require.Equal(t, 3, sent)
}

// TestManyPhonesCostOneRead opens a show with many phones at once, and an unknown one too.
func TestManyPhonesCostOneRead(t *testing.T) {
	t.Parallel()
	queries := &queryCounter{}
	s := apitest.New(t, apitest.Options{Pool: tracedPool(t, queries)})
	sh := newShow(t, s)
	anonymous := s.With(t, "")
	before := queries.count.Load()
	anonymous.Call(t, "GET", "/v1/shows/"+sh.id, nil).Is(t, 200)
	one := queries.count.Load() - before
	require.Less(t, one, int64(20))
	s.Clock.Advance(time.Second)
	before = queries.count.Load()
	var phones sync.WaitGroup
	for i := range 200 {
		phones.Go(func() {
			if i%4 == 0 {
				anonymous.Call(t, "GET", "/v1/shows/str_01m18qg1mhf2bsz1fk6m8v4jxe", nil).Problem(t, 404, "not_found")
				return
			}
			anonymous.Call(t, "GET", "/v1/shows/"+sh.id, nil).Is(t, 200)
		})
	}
	phones.Wait()
	require.LessOrEqual(t, queries.count.Load()-before, one+1, "one read of the show, and one query for the unknown id")
}
