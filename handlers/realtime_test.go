package handlers_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/console/platform"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/realtimetest"
)

// live returns a test server with a realtime channel.
func live(t testing.TB) (*apitest.Server, *apitest.Caller) {
	t.Helper()
	s := apitest.New(t, apitest.Options{Realtime: true})
	return s, s.Register(t)
}

// hears returns a client that is subscribed to a room.
func hears(t testing.TB, s *apitest.Server, token, room string) *realtimetest.Client {
	t.Helper()
	c, _ := realtimetest.Watch(t, s.URL, token, room)
	return c
}

// turnedAway returns the code of the disconnect with which a token is refused.
func turnedAway(t testing.TB, s *apitest.Server, token string) uint32 {
	t.Helper()
	return realtimetest.New(t, s.URL, realtimetest.Options{Token: token}).Next(t, realtimetest.Disconnected).Code
}

// refusedRoom returns the code with which a subscription to a room is refused.
func refusedRoom(t testing.TB, s *apitest.Server, token, room string) uint32 {
	t.Helper()
	c := realtimetest.New(t, s.URL, realtimetest.Options{Token: token})
	c.Hear(t, room)
	return c.Next(t, realtimetest.Unsubscribed).Code
}

func TestProtocolOfTheRealtimeChannel(t *testing.T) {
	t.Parallel()
	s, _ := live(t)
	var e api.RealtimeEndpoint
	s.With(t, "").Call(t, "GET", realtimetest.Path, nil).Into(t, http.StatusOK, &e)
	require.Equal(t, "centrifuge", e.Protocol)
	require.Equal(t, []api.RealtimeEncoding{api.RealtimeEncodingJSON, api.RealtimeEncodingProtobuf}, e.Encodings)
	c := realtimetest.New(t, s.URL, realtimetest.Options{Token: s.Register(t).Token, Protobuf: true})
	c.Next(t, realtimetest.Connected)
}

func TestAHandshakeThatIsNoneIsAProblem(t *testing.T) {
	t.Parallel()
	s, _ := live(t)
	without := apitest.New(t, apitest.Options{})
	for _, at := range []struct {
		server       *apitest.Server
		key, version string
		status       string
	}{
		{s, "dGhlIHNhbXBsZSBub25jZQ==", "8", "400 Bad Request"},
		{s, "", "13", "400 Bad Request"},
		{without, "dGhlIHNhbXBsZSBub25jZQ==", "13", "503 Service Unavailable"},
		{s, "dGhlIHNhbXBsZSBub25jZQ==", "13", "101 Switching Protocols"},
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(at.server.URL, "http://"))
		require.NoError(t, err)
		_, err = conn.Write([]byte("GET " + realtimetest.Path + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
			"Origin: https://somewhere.example\r\nSec-WebSocket-Version: " + at.version + "\r\nSec-WebSocket-Key: " + at.key + "\r\n\r\n"))
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, at.status, answer.Status)
		require.NoError(t, answer.Body.Close())
		require.NoError(t, conn.Close())
	}
}

func TestPermissionsOfTheRealtimeChannel(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	st := owner.Stream(t, nil)
	for name, token := range map[string]string{
		"owner":  owner.Token,
		"viewer": owner.Colleague(t, tenancy.Viewer).Token,
		"key":    owner.Key(t, tenancy.ChatRead).Token,
	} {
		c := hears(t, s, token, st.ID)
		require.Empty(t, disconnections(c), name)
	}
	require.Equal(t, uint32(3507), turnedAway(t, s, owner.Key(t, tenancy.StreamsRead).Token), "a key without chat:read")
	require.Equal(t, uint32(3500), turnedAway(t, s, ""), "nobody")
	require.Equal(t, uint32(3500), turnedAway(t, s, "made up"))
	require.Equal(t, uint32(3500), turnedAway(t, s, "sk_live_made_up"))
	require.Equal(t, uint32(3500), turnedAway(t, s, s.Admin(t, platform.SuperAdmin).Token), "a platform admin is not a tenant")
	require.Equal(t, uint32(3500), turnedAway(t, s, owner.Token+"x"))
}

func TestTenantsHearTheirOwnRoomsOnly(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	otherTenant := s.Register(t)
	for _, room := range []string{
		owner.Stream(t, nil).ID, owner.Session(t, nil).ID, owner.Channel(t, nil).ID,
	} {
		hears(t, s, owner.Token, room)
		require.Equal(t, uint32(103), refusedRoom(t, s, otherTenant.Token, room), "as one that isn't there")
	}
	require.Equal(t, uint32(103), refusedRoom(t, s, owner.Token, "ses_01m18qg1mhf2bsz1fk6m8v4jxe"))
	require.Equal(t, uint32(103), refusedRoom(t, s, owner.Token, strings.Repeat("x", 100)))
	require.Equal(t, uint32(103), refusedRoom(t, s, owner.Token, "a\x00b"))
}

func TestATenantReceivesItsEvents(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	other := s.Register(t)
	key := owner.Key(t, tenancy.WebhooksRead)
	for _, token := range []string{owner.Token, key.Token} {
		c := realtimetest.New(t, s.URL, realtimetest.Options{Token: token})
		c.HearEvents(t, owner.TenantID)
		c.Next(t, realtimetest.Subscribed)
		other.Product(t, nil)
		made := owner.Product(t, nil)
		e := c.NextType(t, "product.upserted")
		require.Equal(t, made.ID, e.Data["id"])
		var list api.EventRecordList
		owner.Call(t, "GET", "/v1/me/events?limit=1", nil).Into(t, http.StatusOK, &list)
		require.Equal(t, list[0].ID, e.EventID)
	}
	ses := owner.Session(t, nil)
	for name, token := range map[string]string{
		"another tenant": other.Token, "a participant": owner.Ticket(t, ses.ID, "bo", nil).Token, "no scope": owner.Key(t, tenancy.ChatRead).Token,
	} {
		c := realtimetest.New(t, s.URL, realtimetest.Options{Token: token})
		c.HearEvents(t, owner.TenantID)
		require.Equal(t, uint32(103), c.Next(t, realtimetest.Unsubscribed).Code, name)
	}
	require.Equal(t, uint32(103), refusedRoom(t, s, key.Token, ses.ID), "a key for events opens no room")
}

func TestAConsolesPageConnectsByItsCookie(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	from := func(origin string, more ...string) http.Header {
		h := http.Header{"Cookie": {"showfloor_console=" + owner.Token}}
		if origin != "" {
			h.Set("Origin", origin)
		}
		if len(more) > 0 {
			h.Set(more[0], more[1])
		}
		return h
	}
	for name, header := range map[string]http.Header{
		"the address of the request": from(s.URL), "the public URL": from(apitest.PublicURL),
	} {
		c := realtimetest.New(t, s.URL, realtimetest.Options{Header: header})
		c.HearEvents(t, owner.TenantID)
		c.Next(t, realtimetest.Subscribed)
		made := owner.Product(t, nil)
		require.Equal(t, made.ID, c.NextType(t, "product.upserted").Data["id"], name)
	}
	for name, header := range map[string]http.Header{
		"no origin": from(""), "another site": from("https://elsewhere.example"), "a neighbour": from("https://shop.example.test"),
		"another port": from("http://127.0.0.1:1"), "without TLS": from("http://api.example.test"), "an opaque origin": from("null"),
		"another scheme":     from(strings.Replace(s.URL, "http:", "https:", 1)),
		"the admins' cookie": {"Cookie": {"showfloor_admin=" + owner.Token}, "Origin": {s.URL}},
	} {
		c := realtimetest.New(t, s.URL, realtimetest.Options{Header: header})
		require.Equal(t, uint32(3500), c.Next(t, realtimetest.Disconnected).Code, name)
	}
	other := s.Register(t)
	c := realtimetest.New(t, s.URL, realtimetest.Options{Token: other.Token, Header: from(s.URL)})
	c.HearEvents(t, other.TenantID)
	c.Next(t, realtimetest.Subscribed) // the token comes first

	ends := realtimetest.New(t, s.URL, realtimetest.Options{Header: from(s.URL)})
	ends.Next(t, realtimetest.Connected)
	consoleRequest(t, s, "POST", "/v1/auth/console/logout", nil, fromConsole, &http.Cookie{Name: "showfloor_console", Value: owner.Token}).
		Is(t, http.StatusCreated)
	until(t, s, ends, 3500)
}

func TestImpersonatingAdminsConnectFromTheirNetworks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Realtime: true, Pool: ownDatabase(t)})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	as, _ := impersonate(t, s, root, owner.TenantID, nil)
	c := realtimetest.New(t, s.URL, realtimetest.Options{Token: as.Token})
	c.HearEvents(t, owner.TenantID)
	c.Next(t, realtimetest.Subscribed)
	_, err := s.Settings.UpdateAdminSetting(t.Context(), auditOf("operator"), setting.Platform, setting.AdminNetworks,
		setting.Change{Value: []byte(`["192.0.2.0/24"]`)})
	require.NoError(t, err)
	until(t, s, c, 3507)
	require.Equal(t, uint32(3507), turnedAway(t, s, as.Token))
	hears(t, s, owner.Token, owner.Stream(t, nil).ID) // the tenant's own users are not admins
}

func TestAnEndedImpersonationsConnectionEnds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Realtime: true})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	as, _ := impersonate(t, s, root, owner.TenantID, nil)
	other, _ := impersonate(t, s, root, owner.TenantID, nil)
	listen := func(token string) *realtimetest.Client {
		c := realtimetest.New(t, s.URL, realtimetest.Options{Token: token})
		c.HearEvents(t, owner.TenantID)
		c.Next(t, realtimetest.Subscribed)
		return c
	}
	ends, stays, owners := listen(as.Token), listen(other.Token), listen(owner.Token)
	as.Call(t, "POST", "/v1/auth/impersonation/end", nil).Is(t, http.StatusCreated)
	require.Equal(t, uint32(3500), ends.Next(t, realtimetest.Disconnected).Code)
	require.Equal(t, uint32(3500), turnedAway(t, s, as.Token))
	made := owner.Product(t, nil)
	for _, c := range []*realtimetest.Client{stays, owners} {
		require.Equal(t, made.ID, c.NextType(t, "product.upserted").Data["id"])
		require.Empty(t, disconnections(c))
	}
}

func TestParticipantsHearTheirOwnRoomOnly(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses, other := owner.Session(t, nil), owner.Session(t, nil)
	guest := owner.Ticket(t, ses.ID, "bo", nil)
	hears(t, s, guest.Token, ses.ID)
	require.Equal(t, uint32(103), refusedRoom(t, s, guest.Token, other.ID))
	st := owner.Stream(t, nil)
	var viewer api.SfuToken
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/sfu-token", map[string]any{"userId": "cy"}).Into(t, http.StatusCreated, &viewer)
	c := hears(t, s, viewer.Token, st.ID)
	owner.Say(t, st.ID, "ada", "Hello!").Is(t, http.StatusCreated)
	c.NextType(t, realtime.ChatMessage)
	require.Equal(t, uint32(103), refusedRoom(t, s, guest.Token, owner.Channel(t, nil).ID))
}

func TestChangesArePublishedAtOnce(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	st := owner.Stream(t, nil)
	c := hears(t, s, owner.Key(t, tenancy.ChatRead).Token, st.ID)
	owner.Say(t, st.ID, "ada", "Hello!").Is(t, http.StatusCreated)
	require.Equal(t, "Hello!", c.NextType(t, realtime.ChatMessage).Data["body"])
	a := owner.Auction(t, map[string]any{"streamId": st.ID})
	owner.Bid(t, a.ID, 1200).Is(t, http.StatusCreated)
	require.EqualValues(t, 1200, c.NextType(t, realtime.AuctionBid).Data["amountCents"])
	owner.Call(t, "POST", "/v1/me/commerce/discounts/drop/"+st.ID, map[string]any{"code": "FLASH20", "percentOff": 20, "durationSec": 60}).
		Is(t, http.StatusCreated)
	require.Equal(t, "FLASH20", c.NextType(t, realtime.DiscountDrop).Data["code"])
}

func TestARevokedKeysConnectionEnds(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	st := owner.Stream(t, nil)
	key := owner.Key(t, tenancy.ChatRead)
	var list api.APIKeyList
	owner.Call(t, "GET", "/v1/me/api-keys", nil).Into(t, http.StatusOK, &list)
	c := hears(t, s, key.Token, st.ID)
	owner.Call(t, "DELETE", "/v1/me/api-keys/"+list[0].ID, nil).Is(t, http.StatusOK)
	until(t, s, c, 3500)
	require.Equal(t, uint32(3500), turnedAway(t, s, key.Token))
}

func TestAChangedPasswordEndsConnections(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	st := owner.Stream(t, nil)
	c := hears(t, s, owner.Token, st.ID)
	owner.Call(t, "POST", "/v1/me/change-password", map[string]any{"currentPassword": apitest.Password, "newPassword": "another battery staple"})
	until(t, s, c, 3500)
}

func TestASuspendedTenantsConnectionsEnd(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses := owner.Session(t, nil)
	guest := owner.Ticket(t, ses.ID, "bo", nil)
	tenants, participants := hears(t, s, owner.Token, ses.ID), hears(t, s, guest.Token, ses.ID)
	s.Admin(t, platform.SuperAdmin).Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/suspend", map[string]any{"reason": "fraud"}).
		Is(t, http.StatusCreated)
	until(t, s, tenants, 4502)
	until(t, s, participants, 4502)
	require.Equal(t, uint32(4502), turnedAway(t, s, owner.Token))
	require.Equal(t, uint32(4502), turnedAway(t, s, guest.Token))
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses := owner.Session(t, nil)
	guest := owner.Ticket(t, ses.ID, "bo", nil)
	c := hears(t, s, guest.Token, ses.ID)
	c.Next(t, realtimetest.Connecting)
	s.Clock.Advance(7 * time.Hour)
	require.Equal(t, uint32(3005), c.Next(t, realtimetest.Connecting).Code)
	require.Equal(t, uint32(109), c.Next(t, realtimetest.Failed).Code)
}

func TestAKickedParticipantIsOutAtOnce(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses := owner.Session(t, nil)
	bo := owner.Join(t, ses.ID, "bo", nil)
	c, others := hears(t, s, bo.Token, ses.ID), hears(t, s, owner.Token, ses.ID)
	owner.Call(t, "DELETE", "/v1/me/sessions/"+ses.ID+"/participants/bo", nil).Is(t, http.StatusOK)
	require.Equal(t, uint32(4500), c.Next(t, realtimetest.Disconnected).Code)
	require.Equal(t, "bo", others.NextType(t, realtime.SessionParticipantKicked).Data["userId"])
	require.Equal(t, uint32(4500), turnedAway(t, s, bo.Token))
}

func TestABannedParticipantIsOutAtOnce(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses := owner.Session(t, nil)
	bo := owner.Join(t, ses.ID, "bo", nil)
	c := hears(t, s, bo.Token, ses.ID)
	owner.Call(t, "POST", "/v1/me/channels/"+ses.ID+"/moderate/ban", map[string]any{"target": "bo", "by": "ada"}).Is(t, http.StatusCreated)
	require.Equal(t, uint32(4501), c.Next(t, realtimetest.Disconnected).Code)
	require.Equal(t, uint32(4501), turnedAway(t, s, bo.Token))
}

func TestAWaitingParticipantReceivesNothingUntilAdmitted(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses := owner.Session(t, map[string]any{"waitingRoom": true})
	bo := owner.Ticket(t, ses.ID, "bo", nil)
	_, err := bo.Enter(t, ses.ID)
	require.NoError(t, err)
	c := realtimetest.New(t, s.URL, realtimetest.Options{Token: bo.Token})
	c.Hear(t, ses.ID)
	require.Equal(t, uint32(425), c.Next(t, realtimetest.Refused).Code)
	owner.Call(t, "POST", "/v1/me/sessions/"+ses.ID+"/participants/bo/admit", nil).Is(t, http.StatusCreated)
	c.Next(t, realtimetest.Subscribed)
}

func TestTheEndOfASessionIsPublished(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses := owner.Session(t, nil)
	bo := owner.Join(t, ses.ID, "bo", nil)
	c := hears(t, s, bo.Token, ses.ID)
	owner.Call(t, "POST", "/v1/me/sessions/"+ses.ID+"/end", nil).Is(t, http.StatusCreated)
	c.NextType(t, realtime.SessionEnded)
	require.Equal(t, uint32(2100), c.Next(t, realtimetest.Unsubscribed).Code)
}

func TestOnlyTheHostPins(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	ses, product := owner.Session(t, nil), owner.Product(t, nil)
	adaC, ada := realtimetest.Watch(t, s.URL, owner.Join(t, ses.ID, "ada", nil).Token, ses.ID)
	_, bo := realtimetest.Watch(t, s.URL, owner.Join(t, ses.ID, "bo", nil).Token, ses.ID)
	pin := []byte(`{"type":"prod-pin","data":{"id":"` + product.ID + `"}}`)
	_, err := bo.Publish(t.Context(), pin)
	require.Equal(t, uint32(103), realtimetest.Code(err), "%v", err)
	_, err = ada.Publish(t.Context(), pin)
	require.NoError(t, err)
	require.Equal(t, product.ID, adaC.NextType(t, realtime.ProductPin).Data["id"])
	_, err = ada.Publish(t.Context(), []byte(`{"type":"prod-pin","data":{"id":"prod_01m18qg1mhf2bsz1fk6m8v4jxe"}}`))
	require.Equal(t, uint32(107), realtimetest.Code(err))
	require.ErrorContains(t, err, "product not found")
	_, err = bo.Publish(t.Context(), []byte(`{"type":"heart","data":{"count":2}}`))
	require.NoError(t, err)
	require.EqualValues(t, 2, adaC.NextType(t, realtime.Heart).Data["count"])
}

func TestMadeUpTokensAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Realtime: true, Limits: pipeline.Limits{
		Limiter: ratelimit.New(ratelimit.NewMemory(time.Now), nil, nil), Guesses: ratelimit.Rate{Events: 1, Per: time.Hour, Burst: 3},
	}})
	for range 3 {
		require.Equal(t, uint32(3500), turnedAway(t, s, "made up"))
	}
	c := realtimetest.New(t, s.URL, realtimetest.Options{Token: "made up"})
	require.Equal(t, uint32(111), c.Next(t, realtimetest.Failed).Code)
	realtimetest.New(t, s.URL, realtimetest.Options{Token: s.Register(t).Token}).Next(t, realtimetest.Connected)
}

// until makes the server check credentials again, by the test's clock, until
// the client is disconnected with code.
func until(t testing.TB, s *apitest.Server, c *realtimetest.Client, code uint32) {
	t.Helper()
	s.Clock.Advance(2 * time.Second) // longer than the areas cache credentials
	require.Equal(t, code, c.Next(t, realtimetest.Disconnected).Code)
}

func disconnections(c *realtimetest.Client) []realtimetest.Event {
	var list []realtimetest.Event
	for _, e := range c.Events() {
		if e.Kind == realtimetest.Disconnected {
			list = append(list, e)
		}
	}
	return list
}
