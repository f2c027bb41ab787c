//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
)

// Version is the version of the API.
const Version = "2023-10-16"

// call is a request to the API, made under the lock.
type call struct {
	*change
	form
	r *http.Request
	// account is the seller's account to which the request applies, or "" for
	// the platform's own.
	account string
	server  *Server
}

// maxBody is the largest request body, in bytes.
const maxBody = 1 << 20

func (s *Server) routeAPI() {
	for pattern, h := range map[string]func(*call) (any, error){
		"POST /v1/accounts":                         createAccount,
		"GET /v1/accounts":                          listAccounts,
		"GET /v1/accounts/{id}":                     getAccount,
		"POST /v1/account_links":                    createLink,
		"POST /v1/checkout/sessions":                createSession,
		"GET /v1/checkout/sessions":                 listSessions,
		"GET /v1/checkout/sessions/{id}":            getSession,
		"POST /v1/checkout/sessions/{id}/expire":    expireSession,
		"GET /v1/checkout/sessions/{id}/line_items": listLines,
		"POST /v1/coupons":                          createCoupon,
		"GET /v1/coupons/{id}":                      getCoupon,
		"POST /v1/products":                         createProduct,
		"GET /v1/products/{id}":                     getProduct,
		"POST /v1/prices":                           createPrice,
		"GET /v1/prices/{id}":                       getPrice,
		"GET /v1/payment_intents":                   listPayments,
		"GET /v1/payment_intents/{id}":              getPayment,
		"GET /v1/charges":                           listCharges,
		"GET /v1/charges/{id}":                      getCharge,
		"POST /v1/refunds":                          createRefund,
		"GET /v1/refunds":                           listRefunds,
		"GET /v1/refunds/{id}":                      getRefund,
		"GET /v1/disputes":                          listDisputes,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		s.router.HandleFunc(method+" /api"+path, s.api(h))
	}
	s.routeBilling()
	s.router.HandleFunc("GET /api"+clockPath, s.api(getClock))
	s.router.HandleFunc("/api/", s.api(func(c *call) (any, error) {
		return nil, &refusal{status: 404, kind: invalidRequest, message: "Unrecognized request URL (" + c.r.Method + ": " + c.r.URL.Path + ")."}
	}))
}

// api handles every request: planned faults, key and parameters, then the
// handler under the lock. It sends the answer once the change is on disk.
func (s *Server) api(h func(*call) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		params, err := readParams(r)
		fault := s.faults.meet(r.Context(), Request{
			Method: r.Method, Path: path, Account: r.Header.Get("Stripe-Account"),
			Key: r.Header.Get("Idempotency-Key"), Params: params,
		})
		if fault.down {
			panic(http.ErrAbortHandler)
		}
		requestID := newID("req_")
		status, body, plain := fault.status, []byte("The service is unavailable.\n"), fault.status != 0
		if status == http.StatusTooManyRequests {
			// The processor itself answers 429; the other statuses come from proxies before it.
			plain, err = false, &refusal{
				status: status, kind: invalidRequest, code: "rate_limit",
				message: "Request rate limit exceeded. Learn more about rate limits at https://stripe.com/docs/rate-limits.",
			}
		} else if status == 0 && err == nil {
			status, body, err = s.answer(h, r, params, requestID)
		}
		if err != nil && !plain {
			status, body = s.explain(err)
		}
		w.Header().Set("Request-Id", requestID)
		w.Header().Set("Stripe-Version", Version)
		if !plain {
			w.Header().Set("Content-Type", "application/json")
		}
		if fault.lose {
			loseAnswer(w, body)
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) //nolint:gosec // JSON by its type; and the caller may have gone
	}
}

func readParams(r *http.Request) (url.Values, error) {
	if r.Method == http.MethodGet {
		return r.URL.Query(), nil
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return nil, invalid("", "", "The request's body can't be read.")
	}
	params, err := url.ParseQuery(body.String())
	if err != nil {
		return nil, invalid("", "", "Invalid request: the body isn't form-encoded.")
	}
	if r.Method == http.MethodDelete { // clients send its parameters in either place
		for name, values := range r.URL.Query() {
			params[name] = append(params[name], values...)
		}
	}
	return params, nil
}

// answer runs the handler, unless the request's idempotency key has an answer.
func (s *Server) answer(
	h func(*call) (any, error), r *http.Request, params url.Values, requestID string,
) (status int, body []byte, err error) {
	if err := s.authenticate(r); err != nil {
		return 0, nil, err
	}
	account, key := r.Header.Get("Stripe-Account"), r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost {
		key = ""
	}
	sum := sha256.Sum256([]byte(r.Method + " " + r.URL.Path + "\n" + params.Encode()))
	hash, scoped := hex.EncodeToString(sum[:]), account+" "+key
	err = s.do(func(c *change) error {
		c.requestID, c.requestKey = requestID, key
		if _, known := c.accounts[account]; account != "" && !known {
			return s.noAccess(account)
		}
		if before, known := c.answers[scoped]; key != "" && known && before.At > c.now.Add(-answersKept).Unix() {
			status, body, err = repeat(before, hash, key)
			return err
		}
		result, failure := h(&call{change: c, form: newForm(params), r: r, account: account, server: s})
		if status, body, err = s.outcome(result, failure, key); err != nil {
			return err
		}
		if r, ok := errors.AsType[*refusal](failure); failure != nil && (!ok || !r.commits) {
			c.rollback()
		}
		if key != "" {
			c.put(record{Answer: &answer{Key: scoped, Hash: hash, Status: status, Body: body, At: c.now.Unix()}})
		}
		return nil
	})
	return status, body, err
}

// outcome encodes the handler's result. A refusal that isn't stored under the key
// stays an error.
func (s *Server) outcome(result any, failure error, key string) (status int, body []byte, err error) {
	if failure == nil {
		body, err = json.Marshal(result)
		return http.StatusOK, body, err
	}
	if r, ok := errors.AsType[*refusal](failure); !ok || !r.commits && (!r.kept || key == "") {
		return 0, nil, failure
	}
	status, body = s.explain(failure)
	return status, body, nil
}

// repeat returns the stored answer of the first request with the key.
func repeat(before answer, hash, key string) (int, []byte, error) {
	if before.Hash != hash {
		return 0, nil, &refusal{status: 400, kind: "idempotency_error", message: "Keys for idempotent requests can only be used with the same " +
			"parameters they were first used with. Try using a key other than '" + key + "' if you meant to execute a different request."}
	}
	return before.Status, before.Body, nil
}

func (s *Server) authenticate(r *http.Request) error {
	got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if user, _, basic := r.BasicAuth(); basic {
		got = user
	}
	switch {
	case got == "":
		return &refusal{status: 401, kind: invalidRequest, message: "You did not provide an API key."}
	case subtle.ConstantTimeCompare([]byte(got), []byte(s.config.Key)) != 1:
		return &refusal{status: 401, kind: invalidRequest, message: "Invalid API Key provided: " + masked(got)}
	}
	return nil
}

// noAccess is the answer to an account that is unknown or belongs to another platform.
func (s *Server) noAccess(account string) error {
	return &refusal{
		status: 403, kind: invalidRequest, code: "account_invalid",
		message: "The provided key '" + masked(s.config.Key) + "' does not have access to account '" + account +
			"' (or that account does not exist). Application access may have been revoked.",
	}
}

func masked(key string) string {
	const shown = 4
	if len(key) < 4*shown {
		return "****"
	}
	return key[:2*shown] + "****" + key[len(key)-shown:]
}

// explain encodes an error in the processor's format.
func (s *Server) explain(err error) (int, []byte) {
	var r *refusal
	if !errors.As(err, &r) {
		s.config.Log.Error("the sandbox failed", "error", err)
		r = &refusal{status: 500, kind: "api_error", message: "An unknown error occurred"}
	}
	fields := map[string]any{"type": r.kind, "message": r.message}
	for name, v := range map[string]string{"code": r.code, "param": r.param, "decline_code": r.declineCode} {
		if v != "" {
			fields[name] = v
		}
	}
	body, err := json.Marshal(object{"error": fields})
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return r.status, body
}

// object is a JSON object.
type object = map[string]any

// nullable returns null for the zero value.
func nullable[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// The processor's page sizes of lists.
const (
	defaultLimit = 10
	maxLimit     = 100
)

// page returns a page of a list from the newest to the oldest, selected by
// limit, starting_after, ending_before and created.
func page[T any](c *call, all []T, id func(T) string, created func(T) int64, render func(T) any) (any, error) {
	limit := c.amount("limit", 1, defaultLimit)
	after, before := c.text("starting_after"), c.text("ending_before")
	since := max(c.at("created").whole("gte", 0), c.at("created").whole("gt", -1)+1)
	until := min(c.at("created").whole("lte", math.MaxInt64), c.at("created").whole("lt", math.MaxInt64)-1)
	if err := c.done(); err != nil {
		return nil, err
	}
	if limit > maxLimit {
		return nil, invalid("", "limit", "This value must be less than or equal to %d (it currently is '%d').", maxLimit, limit)
	}
	kept := all[:0:0]
	for _, v := range all {
		if at := created(v); at >= since && at <= until {
			kept = append(kept, v)
		}
	}
	kept, more, err := cut(kept, int(limit), id, after, before)
	if err != nil {
		return nil, err
	}
	data := make([]any, 0, len(kept))
	for _, v := range kept {
		data = append(data, render(v))
	}
	return object{"object": "list", "url": strings.TrimPrefix(c.r.URL.Path, "/api"), "has_more": more, "data": data}, nil
}

// cut returns the part of a list after or before an id.
func cut[T any](all []T, limit int, id func(T) string, after, before string) (part []T, more bool, err error) {
	place := func(name, wanted string) (int, error) {
		for i, v := range all {
			if id(v) == wanted {
				return i, nil
			}
		}
		return 0, none("object", wanted, name)
	}
	switch {
	case after != "":
		i, err := place("starting_after", after)
		if err != nil {
			return nil, false, err
		}
		all = all[i+1:]
	case before != "":
		i, err := place("ending_before", before)
		if err != nil {
			return nil, false, err
		}
		start := max(0, i-limit)
		return all[start:i], start > 0, nil
	}
	return all[:min(limit, len(all))], len(all) > limit, nil
}

// wants reads the parameter expand: the objects to return as a whole instead of
// their id.
func (c *call) wants() map[string]bool {
	wanted := map[string]bool{}
	for _, path := range c.texts("expand") {
		wanted[strings.TrimPrefix(path, "data.")] = true
	}
	return wanted
}
