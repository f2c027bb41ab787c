package schematest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/schematest"
)

const answers = `
openapi: 3.0.3
paths:
  /v1/things/{id}:
    get:
      responses:
        "200":
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Thing'}
        default: {$ref: '#/components/responses/Problem'}
components:
  responses:
    Problem:
      content:
        application/problem+json:
          schema: {type: object, required: [code], properties: {code: {type: string}}}
  schemas:
    Thing:
      type: object
      required: [id, secret]
      properties:
        id: {type: string}
        at: {type: string, format: date-time, nullable: true}
        url: {type: string, format: uri}
        count: {type: integer, format: int32, minimum: 0}
        secret: {type: string, writeOnly: true}
        state: {nullable: true, type: string, enum: [on, off]}
        untyped: {nullable: true, enum: [on, off]}
        part: {nullable: true, allOf: [{$ref: '#/components/schemas/Part'}]}
        beside: {$ref: '#/components/schemas/Part', nullable: true, required: [more]}
        list: {type: array, items: {type: string, nullable: true}, maxItems: 2}
        named: {type: object, additionalProperties: {type: integer}}
    Part:
      type: object
      required: [name]
      properties: {name: {type: string}}
`

func TestAnswersAreHeldToTheRulesOfOpenAPI30(t *testing.T) {
	t.Parallel()
	doc, err := schematest.Read30([]byte(answers))
	require.NoError(t, err)
	for body, fault := range map[string]string{
		`{"id":"a"}`:                                     "",
		`{"id":"a","at":"2026-01-02T03:04:05Z"}`:         "",
		`{"id":"a","at":null}`:                           "",
		`{"id":"a","part":{"name":"b"}}`:                 "",
		`{"id":"a","beside":{"name":"b"}}`:               "", // the keyword beside the $ref is ignored
		`{"id":"a","list":["b",null],"named":{"one":1}}`: "",
		`{}`:                                   "missing property 'id'",
		`{"id":null}`:                          "got null",
		`{"id":"a","at":"today"}`:              "date-time",
		`{"id":"a","url":"/relative"}`:         "uri",
		`{"id":"a","count":-1}`:                "minimum",
		`{"id":"a","count":2147483648}`:        "32 bits",
		`{"id":"a","secret":"s"}`:              "'not' failed",
		`{"id":"a","state":null}`:              "must be one of", // null is not in the enum
		`{"id":"a","untyped":null}`:            "must be one of", // nullable needs a type beside it
		`{"id":"a","part":null}`:               "got null",       // the part isn't nullable
		`{"id":"a","beside":null}`:             "got null",
		`{"id":"a","list":["b","c","d"]}`:      "maxItems",
		`{"id":"a","named":{"one":"1"}}`:       "got string",
		`{"id":"a","part":{"name":["wrong"]}}`: "got array",
	} {
		err := doc.Response(schematest.Answer{
			Method: "GET", Path: "/v1/things/{id}", Status: 200, ContentType: "application/json; charset=UTF-8", Value: decoded(t, body),
		})
		if fault == "" {
			require.NoError(t, err, body)
		} else {
			require.ErrorContains(t, err, fault, body)
		}
	}
}

func TestAnswersHaveAStatusAndAMediaTypeOfTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := schematest.Read30([]byte(answers))
	require.NoError(t, err)
	problem := schematest.Answer{Method: "GET", Path: "/v1/things/{id}", Status: 404, ContentType: "application/problem+json", Value: decoded(t, `{"code":"gone"}`)}
	require.NoError(t, doc.Response(problem))
	problem.Value = decoded(t, `{}`)
	require.ErrorContains(t, doc.Response(problem), "missing property 'code'")
	problem.ContentType = "text/plain"
	require.ErrorContains(t, doc.Response(problem), "no answer in text/plain")
	problem.Method = "PUT"
	require.ErrorContains(t, doc.Response(problem), "no PUT /v1/things/{id}")
}

const won = `{"event":"auction.won","tenantId":"ten_1","occurredAt":"2026-01-02T03:04:05.678Z",
	"data":{"auctionId":"auc_1","winnerExternalId":"user-1","amountCents":2600,"winnerName":"Bo"}}`

func TestDeliveriesAreHeldToTheirOperation(t *testing.T) {
	t.Parallel()
	doc, err := schematest.Webhooks()
	require.NoError(t, err)
	complete := map[string]string{
		"Content-Type": "application/json", "X-Service-Event": "auction.won", "X-Service-Event-Id": "evt_1", "X-Service-Sequence": "1",
		"X-Service-Delivery": "del_1", "X-Service-Signature": "sha256=00", "Webhook-Id": "evt_1", "Webhook-Timestamp": "1", "Webhook-Signature": "v1,00",
	}
	for _, c := range []struct{ header, value, body, fault string }{
		{body: won},
		{header: "X-Service-Signature-Previous", value: "sha256=00", body: won},
		{header: "X-Service-Signature", body: won, fault: "X-Service-Signature is missing"},
		{header: "X-Service-Extra", value: "1", body: won, fault: "no header X-Service-Extra"},
		{header: "X-Service-Event", value: "auction.bid", body: won, fault: "the body's event"},
		{header: "Content-Type", value: "text/plain", body: won, fault: "Content-Type"},
		{body: won + "x", fault: "not JSON"},
		{body: strings.Replace(won, "auction.won", "auction.unknown", 1), fault: `no event "auction.unknown"`},
		{body: strings.Replace(won, `"Bo"`, "null", 1), fault: "got null"},
		{body: strings.Replace(won, `"tenantId":"ten_1",`, "", 1), fault: "missing property 'tenantId'"},
		{body: strings.Replace(won, "2026-01-02", "today", 1), fault: "date-time"},
	} {
		header := http.Header{}
		for name, value := range complete {
			header.Set(name, value)
		}
		if c.header != "" {
			header.Del(c.header)
		}
		if c.value != "" {
			header.Set(c.header, c.value)
		}
		if c.fault == "" {
			require.NoError(t, doc.Delivery(header, []byte(c.body)), c)
		} else {
			require.ErrorContains(t, doc.Delivery(header, []byte(c.body)), c.fault, c)
		}
	}
	twice := http.Header{"X-Service-Event": {"auction.won"}, "Content-Type": {"application/json"}, "Webhook-Id": {"evt_1", "evt_2"}}
	require.ErrorContains(t, doc.Delivery(twice, []byte(won)), "webhook-id comes 2 times")
}

func TestAnAnswerIsCheckedAgainstThePublishedDocument(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, schematest.CheckAnswer(schematest.Answer{
		Method: "GET", Path: "/v1/me", Status: 200, ContentType: "application/json", Value: decoded(t, `{}`),
	}), "missing propert")
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	value, err := schematest.Decode([]byte(text))
	require.NoError(t, err)
	return value
}
