package e2e

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/handlers"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// referenceTools are functions for the reference page. Its forms listen to input events, which setting a value doesn't send.
const referenceTools = `globalThis.fill = (box, value) => {
	Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), 'value').set.call(box, value);
	box.dispatchEvent(new Event('input', { bubbles: true }));
};
globalThis.texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
globalThis.idsOf = (selector) => [...document.querySelectorAll(selector)].map((e) => e.dataset.operation);
undefined`

// reference is a tab that shows the reference page of a server.
type reference struct {
	t   *testing.T
	tab context.Context
	url string
}

// at opens the page at a place such as "#/Streams" and waits until it is shown.
func (r reference) at(place string) {
	r.t.Helper()
	browsertest.Run(r.t, r.tab, chromedp.Navigate("about:blank"), chromedp.Navigate(r.url+"/docs"+place),
		chromedp.WaitVisible(chromedp.CSS("#viewer h1")), chromedp.Evaluate[chromedp.Void](referenceTools))
}

func (r reference) run(script string) {
	r.t.Helper()
	browsertest.Run(r.t, r.tab, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
}

func (r reference) strings(script string) []string {
	r.t.Helper()
	return browsertest.Value[[]string](r.t, r.tab, script)
}

// find types into the search and returns the ids of the operations that it lists.
func (r reference) find(words string) []string {
	r.t.Helper()
	text, err := json.Marshal(words)
	require.NoError(r.t, err)
	r.run(`fill(document.getElementById("search"), ` + string(text) + `)`)
	return r.strings(`idsOf("#results a")`)
}

// looks takes screenshots on a desk and on a phone, and checks each for barriers.
func (r reference) looks(name string) {
	r.t.Helper()
	for _, a := range browsertest.Appearances(1440, 900) {
		a.Apply(r.t, r.tab)
		browsertest.Screenshot(r.t, r.tab, "docs-"+name+"-"+a.Name)
		require.Empty(r.t, browsertest.Barriers(r.t, r.tab), "%s, %s", name, a.Name)
		// An element that reaches beyond the window makes the page scroll sideways.
		require.Empty(r.t, r.strings(`document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("#viewer *")]
			.filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.tagName + "." + e.className)`))
	}
}

// TestReferencePage reads the API reference of a real server and tries operations in it.
func TestReferencePage(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	doc, err := contract()
	require.NoError(t, err)
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1440, 900, false)
	page := func(t *testing.T) reference { t.Helper(); return reference{t, tab, s.url} }

	flowtest.Step(t, "every section is in reach", func(t *testing.T) { openSections(page(t), doc.spec.Tags) })
	flowtest.Step(t, "operations that answer 501 have a badge", func(t *testing.T) { compareBadges(page(t), doc.spec.Paths) })
	flowtest.Step(t, "the search finds operations", func(t *testing.T) { search(page(t)) })
	flowtest.Step(t, "problems come after the request", func(t *testing.T) { readProblems(page(t)) })
	flowtest.Step(t, "credentials", func(t *testing.T) { authorizeInReference(page(t), a.apiKey) })
	flowtest.Step(t, "trying an operation twice", func(t *testing.T) {
		tryTwice(page(t))
		var names []string
		list, err := a.ListStreamsWithResponse(t.Context(), nil)
		require.NoError(t, err)
		for _, stream := range *list.JSON200 {
			names = append(names, stream.Name)
		}
		require.Equal(t, []string{"second", "first"}, names)
	})
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, slices.DeleteFunc(log.Complaints(), func(c string) bool { return strings.Contains(c, "about:blank") }))
}

// openSections compares the sections with the document's tags, and opens one.
func openSections(r reference, tags openapi3.Tags) {
	r.t.Helper()
	r.at("?url=https://showfloor.invalid/other.json")
	require.Equal(r.t, "Showfloor API", browsertest.Value[string](r.t, r.tab, `document.title`), "?url= shows no other document")
	names := []string{"Introduction", "Schemas"}
	for _, tag := range tags {
		names = append(names, tag.Name)
	}
	require.ElementsMatch(r.t, names, r.strings(`[...document.querySelectorAll("#groups [data-section]")].map((e) => e.dataset.section)`))
	r.looks("introduction")
	browsertest.Run(r.t, r.tab, chromedp.Click(chromedp.CSS(`#groups [data-section="Catalog"] a`)))
	browsertest.WaitFor(r.t, r.tab, `document.querySelector("#viewer h1").textContent === "Catalog"`)
	require.Equal(r.t, "#/Catalog", browsertest.Value[string](r.t, r.tab, `location.hash`))
	r.looks("section")
}

// compareBadges compares the operations that have a badge with those that answer 501, and counts all.
func compareBadges(r reference, paths *openapi3.Paths) {
	r.t.Helper()
	badged := r.strings(`idsOf("#groups .operation:has(.badge)")`)
	for i := range badged {
		badged[i] = strings.ToLower(badged[i])
	}
	var unbuilt []string
	for _, name := range handlers.Unbuilt() {
		unbuilt = append(unbuilt, strings.ToLower(name))
	}
	require.ElementsMatch(r.t, unbuilt, badged)
	count := 0
	var sections []string // with such an operation
	for _, item := range paths.Map() {
		count += len(item.Operations())
		for _, op := range item.Operations() {
			if slices.Contains(unbuilt, strings.ToLower(op.OperationID)) {
				sections = append(sections, op.Tags[0])
			}
		}
	}
	require.Len(r.t, r.strings(`idsOf("#groups .operation")`), count)
	if len(sections) == 0 { // all operations are built
		return
	}
	r.at("#/" + url.PathEscape(slices.Min(sections)))
	require.Subset(r.t, r.strings(`texts("#viewer .opblock-summary .badge")`), []string{"not built yet"})
}

// search finds operations, and opens one with the keyboard, on a phone.
func search(r reference) {
	r.t.Helper()
	require.Equal(r.t, "rotateStreamKey", r.find("rotatestreamkey")[0], "by operationId")
	require.Equal(r.t, "rotateStreamKey", r.find("/streams/{id}/rotate-key")[0], "by path")
	require.Equal(r.t, "rotateStreamKey", r.find("Replace stream key")[0], "by summary")
	require.Contains(r.t, r.find("antiSnipeSec endsAt"), "placeBid", "by description")
	require.Empty(r.t, r.find("nosuchword"))
	require.Equal(r.t, []string{"0 operations found"}, r.strings(`texts("#found")`))
	r.find("")
	browsertest.Look(r.t, r.tab, 390, 844, false)
	browsertest.Run(r.t, r.tab, chromedp.Click(chromedp.CSS("#menu")), chromedp.WaitVisible(chromedp.CSS("#search")))
	r.looks("menu")
	r.find("place bid")
	r.looks("search")
	browsertest.Run(r.t, r.tab, chromedp.SendKeys(chromedp.CSS("#search"), "\r"))
	browsertest.WaitFor(r.t, r.tab, `location.hash === "#/Commerce/placeBid"`)
	browsertest.WaitFor(r.t, r.tab, `document.activeElement.dataset.operation === "placeBid" &&
		document.activeElement.getBoundingClientRect().top < innerHeight / 2`)
}

// readProblems checks the order of an operation's parts.
func readProblems(r reference) {
	r.t.Helper()
	r.at("#/Commerce/createCheckout")
	browsertest.WaitFor(r.t, r.tab, `document.querySelector(".opblock.is-open .responses-table") !== null`)
	order := r.strings(`[...document.querySelectorAll(".is-open :is(.opblock-section-request-body, code)")].map((e) =>
		e.tagName === "CODE" ? e.textContent : "request")`)
	require.Greater(r.t, slices.Index(order, "seller_not_onboarded"), slices.Index(order, "request"))
	r.looks("operation")
}

// authorizeInReference looks at the dialog for credentials and enters an API key, with the keyboard.
func authorizeInReference(r reference, key string) {
	r.t.Helper()
	r.at("#/Streams/createStream")
	browsertest.Run(r.t, r.tab, chromedp.Click(chromedp.CSS("#authorize")), chromedp.WaitVisible(chromedp.CSS("#credentials")))
	require.Equal(r.t, []string{
		"API key, or user's token", "User's token", "Participant's token", "Admin's token", "Ingest secret", "Ingest signature",
		"Recorder's signature", "Transcoder's signature", "Packager's signature",
	}, r.strings(`texts("#credentials label")`))
	require.NotContains(r.t, r.strings(`texts("#schemes p")`), "", "each has a line about its holder")
	r.looks("authorize")
	browsertest.Run(r.t, r.tab, chromedp.SendKeys(chromedp.CSS("#credential-tenantToken"), key+"\r"))
	browsertest.WaitFor(r.t, r.tab, `document.getElementById("authorize").textContent === "Authorized"`)
}

// tryTwice creates the streams "first" and "second" with the form of createStream, without filling in anything else.
func tryTwice(r reference) {
	r.t.Helper()
	browsertest.Run(r.t, r.tab, chromedp.Click(chromedp.CSS(".is-open .try-out__btn")), chromedp.WaitVisible(chromedp.CSS(".is-open .execute")))
	require.Empty(r.t, browsertest.Value[string](r.t, r.tab, `document.querySelector('.is-open [data-param-name="Idempotency-Key"] input').value`))
	for _, name := range []string{"first", "second"} {
		r.run(`fill(document.querySelector(".is-open .body-param__text"), '{"name": "` + name + `"}')`)
		browsertest.Run(r.t, r.tab, chromedp.Click(chromedp.CSS(".is-open .execute")))
		browsertest.WaitFor(r.t, r.tab, `(document.querySelector(".is-open .live-responses-table tr.response")?.textContent ?? "").includes('"`+name+`"')`)
		require.Contains(r.t, browsertest.Value[string](r.t, r.tab, `document.querySelector(".is-open .live-responses-table tr.response .response-col_status").textContent`), "201")
	}
	r.looks("tried")
}
