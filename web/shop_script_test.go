package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

const (
	showID   = "str_1"
	replayID = "rec_1"
)

// shopScript simulates the server of a show for states that are rare with a real one: refusals by the payment processor, an
// auction's last second, lost answers. e2e has the tests with the real server.
type shopScript struct {
	*script

	mu sync.Mutex
	// ahead is the time since the start of the test that the server's clock has jumped over.
	ahead    time.Duration
	show     message
	replay   message
	cart     message
	orders   []message
	sales    []message
	refusals map[string]message // problems by path's last part, such as "checkout"
	lost     map[string]int     // answers to lose by path's last part
	// requests are the bodies of POSTs and PUTs by path's last part, each with its Idempotency-Key in "key".
	requests map[string][]message
}

func newShopScript(t testing.TB) *shopScript {
	t.Helper()

	return &shopScript{
		script: newScript(t), show: aShow(), replay: aReplay(), cart: aCart(), sales: []message{}, refusals: map[string]message{}, lost: map[string]int{},
		requests: map[string][]message{},
	}
}

// change changes the state under the lock.
func (s *shopScript) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// seen returns the requests with that path's last part.
func (s *shopScript) seen(name string) []message {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.requests[name])
}

func (s *shopScript) handlers() map[string]http.HandlerFunc {
	all := s.script.handlers()
	more := map[string]func(r *http.Request, body message) any{
		"GET /v1/shows/{id}":                  func(*http.Request, message) any { return s.timed(s.show) },
		"GET /v1/replays/{id}":                func(*http.Request, message) any { return s.timed(s.replay) },
		"GET /v1/replays/{id}/chat":           func(*http.Request, message) any { return replayChat() },
		"POST /v1/replays/{id}/guest-token":   s.guest,
		"GET /v1/streams/{id}/chat":           func(*http.Request, message) any { return s.said() },
		"POST /v1/me/streams/{id}/chat":       s.writes,
		"POST /v1/me/shows/{id}/playback-url": playback,
		"GET /v1/me/shows/{id}/cart":          func(*http.Request, message) any { return s.cart },
		"PUT /v1/me/shows/{id}/cart":          s.stores,
		"POST /v1/me/shows/{id}/clicks":       func(_ *http.Request, body message) any { return body },
		"POST /v1/me/shows/{id}/checkout":     s.checkout,
		"GET /v1/me/shows/{id}/orders":        func(*http.Request, message) any { return s.orders },
		"GET /v1/me/shows/{id}/orders/{order}": func(r *http.Request, _ message) any {
			for _, order := range s.orders {
				if order["id"] == r.PathValue("order") {
					return order
				}
			}

			return problemOf(http.StatusNotFound, "not_found")
		},
		"POST /v1/me/shows/{id}/auctions/{auction}/bids": s.bids,
	}
	maps.Copy(more, s.studio())
	for pattern, respond := range more {
		all[pattern] = s.answers(respond)
	}
	for name, colours := range map[string][2]string{"mug": {"#f2d7c4", "#b5532f"}, "plate": {"#cfe3ee", "#2c5f7c"}, "vase": {"#e6ddf2", "#5b3a8c"}} {
		all["/pictures/"+name+".svg"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/svg+xml")
			fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100" fill="%s"/>`+
				`<path d="M28 30h38v34a14 14 0 0 1-14 14H42a14 14 0 0 1-14-14Zm38 8h8a8 8 0 0 1 0 18h-8" fill="%s"/></svg>`, colours[0], colours[1])
		}
	}

	return all
}

// answers serves an answer under the lock: a problem, a lost answer, or what respond returns.
func (s *shopScript) answers(respond func(r *http.Request, body message) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		var body message
		_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method != http.MethodGet {
			seen := message{"key": r.Header.Get("Idempotency-Key")}
			maps.Copy(seen, body)
			s.requests[name] = append(s.requests[name], seen)
		}
		if s.lost[name] > 0 {
			s.lost[name]--
			panic(http.ErrAbortHandler)
		}
		result := respond(r, body)
		reads := r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "/v1/shows/") && !strings.Contains(r.URL.Path, "/v1/replays/")
		if refusal, ok := s.refusals[name]; ok && (!reads || name == "cart") {
			result = refusal
		}
		if problem, ok := result.(message); ok && problem["status"] != nil && problem["code"] != nil {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(problem["status"].(int))
			_ = json.NewEncoder(w).Encode(problem)

			return
		}
		answer(w, result)
	}
}

func problemOf(status int, code string) message {
	return message{"status": status, "code": code, "message": "a sentence in English that no page may show"}
}

func (s *shopScript) timed(state message) message {
	if state["code"] == nil {
		state["serverTime"] = instant(s.ahead)
	}

	return state
}

func (s *shopScript) guest(*http.Request, message) any {
	return message{"token": ticketFor(s.t, replayID, "guest_1", message{"name": nil, "role": "viewer"}), "userId": "guest_1", "expiresAt": instant(6 * time.Hour)}
}

func (s *shopScript) writes(_ *http.Request, body message) any {
	said := written("msg_9", body["authorId"].(string), body["body"].(string))
	said["authorName"] = body["authorName"]

	return said
}

func playback(r *http.Request, _ message) any {
	return message{"url": "http://" + r.Host + "/hls/live.m3u8", "type": "HLS", "expiresAt": instant(5 * time.Minute), "dvrUrl": nil, "thumbnailUrl": nil}
}

// stores answers with the cart as the server would: prices, sums and problems.
func (s *shopScript) stores(_ *http.Request, body message) any {
	products := s.show["products"].([]message)
	lines := []message{}
	subtotal := 0
	for _, item := range body["items"].([]any) {
		id, quantity := item.(message)["productId"], int(item.(message)["quantity"].(float64))
		product := products[slices.IndexFunc(products, func(p message) bool { return p["id"] == id })]
		line := message{"productId": id, "quantity": quantity, "product": product, "lineCents": quantity * product["priceCents"].(int), "problem": nil}
		switch remaining := product["remaining"].(int); {
		case remaining == 0:
			line["problem"], line["lineCents"] = "sold_out", 0
		case remaining > 0 && remaining < quantity:
			line["problem"], line["lineCents"] = "insufficient_stock", 0
		}
		subtotal += line["lineCents"].(int)
		lines = append(lines, line)
	}
	discount, refusal := 0, any(nil)
	switch body["discountCode"] {
	case "FLASH20":
		discount = subtotal / 5
	case nil:
	default:
		refusal = "expired"
	}
	s.cart = message{
		"items": lines, "currency": "eur", "subtotalCents": subtotal, "discountCents": discount, "totalCents": subtotal - discount,
		"discountCode": body["discountCode"], "discountRefusal": refusal, "updatedAt": instant(0),
	}

	return s.cart
}

func (s *shopScript) checkout(r *http.Request, _ message) any {
	if s.refusals["checkout"] == nil {
		s.orders = []message{anOrder("PENDING", "http://"+r.Host+"/pay")}
	}

	return message{"url": "http://" + r.Host + "/pay", "sessionId": "cs_1", "orderId": "ord_1", "expiresAt": instant(30 * time.Minute)}
}

func (s *shopScript) bids(_ *http.Request, body message) any {
	auction := s.show["auctions"].([]message)[0]
	cents := int(body["amountCents"].(float64))
	auction["topBidCents"], auction["topBidId"], auction["topBidderName"] = cents, fmt.Sprintf("bid_%d", cents), "Ada O."
	auction["minimumBidCents"] = cents + 100

	return auction
}

// publish sends a publication to a subscribed client.
func publishTo(t *testing.T, socket *websocket.Conn, kind string, data message) {
	t.Helper()
	require.NoError(t, wsjson.Write(t.Context(), socket, message{"push": message{
		"channel": "room:" + showID, "pub": message{"data": message{"type": kind, "data": data}},
	}}))
}

// instant returns a time from now as the API writes it.
func instant(after time.Duration) string {
	return time.Now().Add(after).UTC().Format("2006-01-02T15:04:05.000Z")
}

func aProduct(id, name string, cents, remaining int) message {
	return message{
		"id": "prod_" + id, "name": name, "description": "Made by hand in our workshop. Dishwasher safe.", "imageUrl": "/pictures/" + id + ".svg",
		"priceCents": cents, "compareAtCents": nil, "currency": "eur", "remaining": remaining, "low": false, "active": true,
	}
}

func someProducts() []message {
	mug := aProduct("mug", "Stoneware mug, ocean blue", 2400, 2)
	mug["compareAtCents"], mug["low"] = 3200, true
	vase := aProduct("vase", "Tall vase", 8900, 0)

	return []message{mug, aProduct("plate", "Dinner plate, set of four", 6450, -1), vase}
}

func aShow() message {
	return message{
		"id": showID, "name": "Autumn ceramics: the new collection", "status": "LIVE", "scheduledAt": nil, "startedAt": instant(-time.Hour), "endedAt": nil,
		"viewerCount": 1284, "posterUrl": nil, "canBuy": true, "pinnedProductId": "prod_mug", "products": someProducts(),
		"brand":    message{"name": "Acme Ceramics", "logoUrl": nil, "primaryColor": "#7a2048", "accentColor": "#e8a33d"},
		"auctions": []message{}, "drops": []message{}, "replayId": nil,
	}
}

func aReplay() message {
	products := someProducts()
	products[2]["active"] = false

	return message{
		"id": replayID, "streamId": showID, "name": "Autumn ceramics: the new collection", "startedAt": instant(-48 * time.Hour), "durationSec": 30,
		"url": "/hls/index.m3u8", "urlExpiresAt": instant(time.Hour), "posterUrl": nil, "storyboardUrl": nil, "canBuy": true,
		"brand": message{"name": "Acme Ceramics", "logoUrl": nil, "primaryColor": "#7a2048", "accentColor": "#e8a33d"}, "products": products,
		"productTimeline": []message{{"ts": 2, "productId": "prod_mug"}, {"ts": 12, "productId": "prod_plate"}, {"ts": 22, "productId": "prod_vase"}},
	}
}

func replayChat() []message {
	all := []message{}
	for i, body := range []string{"Good evening everyone!", "What a beautiful glaze", "Is the mug dishwasher safe?", "Just bought two", "Do you ship to Norway?"} {
		all = append(all, message{"id": fmt.Sprintf("msg_%d", i), "ts": 1 + 5*i, "authorName": []string{"Bo", "Cleo", "Dora"}[i%3], "body": body})
	}

	return all
}

func aCart() message {
	return message{
		"items": []message{}, "currency": nil, "subtotalCents": 0, "discountCents": 0, "totalCents": 0, "discountCode": nil, "discountRefusal": nil, "updatedAt": nil,
	}
}

func anOrder(status, url string) message {
	order := message{
		"id": "ord_1", "status": status, "auctionId": nil, "subtotalCents": 4800, "discountCents": 960, "totalCents": 3840, "currency": "eur",
		"items":        []message{{"productId": "prod_mug", "nameSnapshot": "Stoneware mug, ocean blue", "priceCents": 2400, "quantity": 2}},
		"discountCode": "FLASH20", "checkoutUrl": nil, "expiresAt": nil, "paidAt": nil, "createdAt": instant(-time.Minute),
	}
	if status == "PENDING" {
		order["checkoutUrl"], order["expiresAt"] = url, instant(29*time.Minute)
	}
	if status == "PAID" {
		order["paidAt"] = instant(0)
	}

	return order
}

func anAuction(left time.Duration) message {
	return message{
		"id": "auc_1", "productId": "prod_vase", "currency": "eur", "status": "LIVE", "endsAt": instant(left), "antiSnipeSec": 10, "minimumBidCents": 4300,
		"bidIncrementCents": 100, "topBidCents": 4200, "topBidderName": "Cleo M.", "topBidId": "bid_0", "winningBidId": nil,
	}
}

// film publishes a live HLS stream; size is such as "540x960".
func film(t *testing.T, size string) http.HandlerFunc {
	t.Helper()
	folder := t.TempDir()
	ffmpeg := exec.CommandContext(t.Context(), "ffmpeg", strings.Fields(`-hide_banner -loglevel error -nostdin -re
		-f lavfi -i gradients=s=`+size+`:c0=0x5d3a52:c1=0xd99a6c:c2=0x2f4858:n=3:speed=0.02:rate=15 -f lavfi -i sine=frequency=300:sample_rate=48000
		-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 15 -b:v 500k -c:a aac
		-f hls -hls_time 1 -hls_list_size 6 -hls_flags delete_segments+program_date_time+temp_file live.m3u8`)...)
	ffmpeg.Dir = folder
	require.NoError(t, ffmpeg.Start())
	t.Cleanup(func() {
		_ = ffmpeg.Process.Kill() // fails if it has just ended
		_ = ffmpeg.Wait()         // it was killed
	})

	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		http.ServeFile(w, r, filepath.Join(folder, filepath.Base(r.URL.Path)))
	}
}
