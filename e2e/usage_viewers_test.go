package e2e

import (
	"cmp"
	"context"
	"encoding/csv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/sfu/sfutest"
)

// span is how long something took, as far as a client can tell: from when it was certain to when it was still possible.
type span struct{ least, most time.Duration }

func (x *span) add(y span) { x.least, x.most = x.least+y.least, x.most+y.most }

// watching is a time that the test measures. The server's time lies within the two pairs of instants.
type watching struct{ asked, began time.Time }

// ends returns how long it took, if its end was requested at one instant and was over at another.
func (w watching) ends(asked, over time.Time) span {
	return span{max(0, asked.Sub(w.began)), over.Sub(w.asked)}
}

// hlsPlayer loads playlists as a player does.
type hlsPlayer struct {
	watching

	t     testing.TB
	list  *url.URL
	bytes int64

	// When the last load began and ended.
	lastAsked, lastOver time.Time
}

func playHLS(t testing.TB, playbackURL string) *hlsPlayer {
	t.Helper()
	p := &hlsPlayer{t: t}
	p.asked = time.Now()
	p.list = p.load(playbackURL)
	p.list = p.load(p.list.String())
	p.began = time.Now()
	return p
}

// load loads a playlist. It returns the address of the last playlist in it, or its own.
func (p *hlsPlayer) load(address string) (list *url.URL) {
	p.t.Helper()
	p.lastAsked = time.Now()
	text := download(p.t, address, false)
	p.lastOver = time.Now()
	p.bytes += int64(len(text))
	base, err := url.Parse(address)
	require.NoError(p.t, err)
	list = base
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(line, ".m3u8") && line[0] != '#' {
			list, err = base.Parse(line)
			require.NoError(p.t, err)
		}
	}
	return list
}

// bill is the usage of a tenant by resource and meter: seconds, or bytes.
type bill map[string]int64

func (a *tenant) bill() bill {
	a.t.Helper()
	by, b := api.UsageHistoryByStream, bill{}
	for _, row := range a.history(by).Rows {
		b[row.ResourceID.MustGet()+" "+string(row.Meter)] = exactly(row)
	}
	return b
}

func (a *tenant) history(by api.UsageHistoryBy) *api.UsageHistory {
	a.t.Helper()
	answer, err := a.GetUsageHistoryWithResponse(a.t.Context(), &api.GetUsageHistoryParams{By: &by})
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200
}

// exactly returns a row's seconds or bytes.
func exactly(row api.UsageHistoryRow) int64 {
	if n, err := row.Seconds.Get(); err == nil {
		return n
	}
	return row.Amount
}

// member is a participant of a room, or a viewer of a stream's room.
type member struct {
	*sfutest.Client
	watching

	received *atomic.Int64 // bytes of media
}

// enters joins a room with a token.
func (a *tenant) enters(token, room, sfuURL string, watch bool) *member {
	a.t.Helper()
	m := &member{received: &atomic.Int64{}}
	m.asked = time.Now()
	m.Client = sfutest.Join(a.t, sfutest.Options{
		URL: sfuURL, Token: token, Room: room, Watch: watch,
		Packet: func(_ string, p *rtp.Packet, _ time.Time) { m.received.Add(int64(p.MarshalSize())) },
	})
	m.began = time.Now()
	return m
}

// leaves returns how long the member was inside.
func (m *member) leaves(t testing.TB) span {
	t.Helper()
	asked := time.Now()
	m.Send(t, map[string]any{"type": "leave"})
	m.ExpectEnd(t)
	return m.ends(asked, time.Now())
}

// attends joins a session as a user.
func (a *tenant) attends(session, user string) *member {
	a.t.Helper()
	token := created(a.CreateSessionTokenWithResponse(a.t.Context(), session, api.SessionTokenInput{UserID: user}))(a.t)
	return a.enters(token.Token, session, token.SfuURL, false)
}

// audience is a stream with players, a stream whose room has a viewer, and a session, with what the test measured of them.
type audience struct {
	*tenant

	shown, room api.Stream
	session     api.Session
	// watched is the players' time, viewed that of the viewer by WebRTC, inside the participants', and onAir that of the shown stream.
	watched, viewed, inside, onAir span
	// bytes were received by players, media by the viewer by WebRTC.
	bytes, media int64
	// stored are the times by meter that the usage had before a kill; nil without a kill.
	stored map[string]time.Duration
}

// measured is a meter with the time that the test measured for it.
type measured struct {
	meter string
	span
}

func (c *audience) measured() []measured {
	return []measured{
		{c.shown.ID + " VIEWER_MINUTES", c.watched},
		{c.room.ID + " VIEWER_MINUTES", c.viewed},
		{c.session.ID + " PARTICIPANT_MINUTES", c.inside},
		{c.shown.ID + " STREAM_MINUTES", c.onAir},
	}
}

// rounded is by how much the usage may differ from the clients' time, because each account is rounded to a second.
const rounded = 2 * time.Second

// awaitStored polls until the usage has what the clients measured up to here, while they go on.
func (c *audience) awaitStored(goOn func()) {
	c.t.Helper()
	c.stored = map[string]time.Duration{}
	for _, x := range c.measured() {
		c.stored[x.meter] = x.least - rounded
	}
	until(c.t, "the usage is stored", func() bool {
		goOn()
		b := c.bill()
		for meter, least := range c.stored {
			if time.Duration(b[meter])*time.Second < least {
				return false
			}
		}
		return true
	})
}

// meets runs all clients for that long. Then it kills the server, or lets all clients leave.
func (c *audience) meets(t *testing.T, d time.Duration, kill func()) {
	t.Helper()
	aired := watching{asked: time.Now()}
	encoders := []*process{encodeForRooms(t, target(c.shown)), encodeForRooms(t, target(c.room))}
	c.await(c.shown.ID, api.StreamStatusLIVE)
	aired.began = time.Now()
	c.await(c.room.ID, api.StreamStatusLIVE)
	players := []*hlsPlayer{playHLS(t, c.playback(c.shown.ID).URL), playHLS(t, c.playback(c.shown.ID).URL)}
	play := func() {
		for _, p := range players {
			p.load(p.list.String())
		}
	}
	role := api.ParticipantRoleViewer
	token := created(c.CreateSfuTokenWithResponse(t.Context(), c.room.ID, api.SfuTokenInput{UserID: new("bo"), Role: &role}))(t)
	viewer := c.enters(token.Token, c.room.ID, token.SfuURL, true)
	until(t, "pictures by WebRTC", func() bool { play(); return viewer.received.Load() > 0 })
	viewer.began = time.Now()
	ada, ben, cleo := c.attends(c.session.ID, "ada"), c.attends(c.session.ID, "ben"), c.attends(c.session.ID, "cleo")
	ben.Cut() // the seat is kept, so the time counts
	ben.Resume(t)
	until(t, "both players are counted", func() bool { play(); return c.stream(c.shown.ID).ViewerCount == len(players) })
	c.inside.add(cleo.leaves(t))
	goOn := func() { play(); pause(t, 300*time.Millisecond) }
	for stop := time.Now().Add(d); time.Now().Before(stop); {
		goOn()
	}
	add := func(to *audience, asked, over time.Time) {
		to.viewed.add(viewer.ends(asked, over))
		to.inside.add(ada.ends(asked, over))
		to.inside.add(ben.ends(asked, over))
		to.onAir.add(aired.ends(asked, over))
	}
	addPlayers := func(to *audience) {
		for _, p := range players {
			to.watched.add(p.ends(p.lastAsked, p.lastOver))
		}
	}
	if kill != nil {
		mark, now := *c, time.Now()
		add(&mark, now, now)
		addPlayers(&mark)
		mark.awaitStored(goOn)
		c.stored = mark.stored
	}
	addPlayers(c)
	for _, p := range players {
		c.bytes += p.bytes
	}
	asked := time.Now()
	if kill != nil {
		kill()
		add(c, asked, time.Now())
	} else {
		c.viewed.add(viewer.leaves(t))
		c.inside.add(ben.leaves(t))
		c.inside.add(ada.leaves(t))
		asked = time.Now()
	}
	for _, e := range encoders {
		e.kill()
	}
	if kill == nil {
		c.await(c.shown.ID, api.StreamStatusRECONNECTING)
		c.onAir.add(aired.ends(asked, time.Now()))
	}
	c.media += viewer.received.Load()
}

// compare compares the usage since an earlier bill with what the clients did. A kill takes only what was not stored before.
func (c *audience) compare(since bill) {
	c.t.Helper()
	b := c.bill()
	for _, x := range c.measured() {
		got, least := time.Duration(b[x.meter]-since[x.meter])*time.Second, x.least-rounded
		if c.stored != nil {
			least = c.stored[x.meter]
		}
		c.t.Logf("%s: %s, at least %s, at most %s", x.meter, got, least, x.most)
		require.GreaterOrEqual(c.t, got, least, x.meter)
		require.LessOrEqual(c.t, got, x.most+rounded, x.meter)
	}
}

// TestViewersAndParticipantsAreCounted has players, a viewer by WebRTC, and participants who join, leave and reconnect, and kills the
// server in the middle. The usage is what the test did, except for what was not stored before the kill, and all reports agree.
func TestViewersAndParticipantsAreCounted(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	c := &audience{
		tenant: a, shown: a.newStream(api.StreamModeLOWLATENCY, 600), room: a.newStream(api.StreamModeLOWLATENCY, 600),
		session: openSession(a, api.SessionInput{Type: api.SessionInputTypeConference}),
	}
	step(t, "until the kill", func(t *testing.T) {
		c.meets(t, 15*time.Second, s.kill)
		s.start(t)
		c.compare(bill{})
		require.LessOrEqual(t, c.bill()[c.shown.ID+" EGRESS_BYTES"], c.bytes)
	}, a)
	kept := c.bill()
	c = &audience{tenant: a, shown: c.shown, room: c.room, session: c.session}
	step(t, "after the kill", func(t *testing.T) {
		c.meets(t, 8*time.Second, nil)
		require.Zero(t, s.terminate(t), "it writes the open intervals")
		s.start(t)
		c.compare(kept)
		b := c.bill()
		require.Equal(t, c.bytes, b[c.shown.ID+" EGRESS_BYTES"]-kept[c.shown.ID+" EGRESS_BYTES"], "to the byte")
		sent := b[c.room.ID+" EGRESS_BYTES"] - kept[c.room.ID+" EGRESS_BYTES"]
		t.Logf("WebRTC: %d bytes sent, %d received", sent, c.media)
		require.GreaterOrEqual(t, sent, c.media)
		funnel, err := a.GetStreamFunnelWithResponse(t.Context(), c.shown.ID)
		require.NoError(t, err)
		require.EqualValues(t, 2, funnel.JSON200.PeakViewers)
	}, a)
	a.reportsAgree(s)
}

// reportsAgree compares all reports of a tenant that is alone on the server.
func (a *tenant) reportsAgree(s *server) {
	a.t.Helper()
	ctx, exact, amounts := a.t.Context(), map[api.UsageMeter]int64{}, map[api.UsageMeter]int64{}
	for _, x := range a.history(api.UsageHistoryByDay).Totals {
		amounts[x.Meter], exact[x.Meter] = x.Amount, x.Amount
		if n, err := x.Seconds.Get(); err == nil {
			exact[x.Meter] = n
		}
	}
	for _, by := range []api.UsageHistoryBy{api.UsageHistoryByDay, api.UsageHistoryByHour, api.UsageHistoryByStream} {
		sums := map[api.UsageMeter]int64{}
		for _, row := range a.history(by).Rows {
			sums[row.Meter] += exactly(row)
		}
		require.Equal(a.t, exact, sums, by)
		require.Equal(a.t, exact, a.csvSums(by), by)
	}

	month, err := a.GetBillingUsageWithResponse(ctx)
	require.NoError(a.t, err)
	root := adminClient(a.t, s, "root@e2e.example", shown(a.t, done(a.t, s, "", "admin", "create", "root@e2e.example", "--role", "SUPER_ADMIN")))
	all, err := root.GetAdminUsageWithResponse(ctx, nil)
	require.NoError(a.t, err)
	require.Len(a.t, all.JSON200.Items, 1)
	for _, list := range [][]api.MeterUsage{month.JSON200.Meters, all.JSON200.Items[0].Meters} {
		for _, m := range list {
			require.Equal(a.t, amounts[m.Meter], m.Used, m.Meter)
		}
	}

	for interval, by := range map[api.AnalyticsInterval]api.UsageHistoryBy{
		api.AnalyticsIntervalHour: api.UsageHistoryByHour, api.AnalyticsIntervalDay: api.UsageHistoryByDay,
	} {
		answer, err := a.GetAnalyticsWithResponse(ctx, &api.GetAnalyticsParams{Interval: &interval})
		require.NoError(a.t, err)
		rows := map[string]int64{}
		for _, row := range a.history(by).Rows {
			rows[row.StartsAt.String()+string(row.Meter)] = row.Amount
		}
		live := 0
		for _, p := range answer.JSON200.Points {
			at := p.StartsAt.String()
			require.EqualValues(a.t, rows[at+"STREAM_MINUTES"], p.MinutesLive, at)
			require.EqualValues(a.t, rows[at+"VIEWER_MINUTES"], p.MinutesWatched, at)
			live += p.MinutesLive
		}
		require.Positive(a.t, live)
	}

	mix, err := root.GetAdminPlanMixReportWithResponse(ctx)
	require.NoError(a.t, err)
	require.Equal(a.t, api.PlanTierFREE, mix.JSON200.Plans[0].Plan)
	require.InDelta(a.t, float64(exact[api.UsageMeterSTREAMMINUTES])/60, mix.JSON200.Plans[0].MinutesLive, 0.051)
	require.InDelta(a.t, float64(exact[api.UsageMeterVIEWERMINUTES])/60, mix.JSON200.Plans[0].MinutesWatched, 0.051)
	traffic, err := root.GetAdminBandwidthWithResponse(ctx, nil)
	require.NoError(a.t, err)
	require.Equal(a.t, exact[api.UsageMeterEGRESSBYTES], traffic.JSON200.EgressBytes)
	require.Equal(a.t, exact[api.UsageMeterEGRESSBYTES], traffic.JSON200.Tenants[0].EgressBytes)
}

// csvSums adds up the usage history as CSV: seconds, or bytes.
func (a *tenant) csvSums(by api.UsageHistoryBy) map[api.UsageMeter]int64 {
	a.t.Helper()
	answer, err := a.GetUsageHistoryWithResponse(a.t.Context(), &api.GetUsageHistoryParams{By: &by}, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/csv")
		return nil
	})
	require.NoError(a.t, err)
	lines, err := csv.NewReader(strings.NewReader(string(answer.Body))).ReadAll()
	require.NoError(a.t, err)
	sums := map[api.UsageMeter]int64{}
	for _, line := range lines[1:] {
		n, err := strconv.ParseInt(cmp.Or(line[5], line[4]), 10, 64)
		require.NoError(a.t, err)
		sums[api.UsageMeter(line[3])] += n
	}
	return sums
}
