package schematest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Event checks the body of an event, as Decode returns it, against the operation that has the event's name.
func (d *Document) Event(body any) error {
	name, _ := at(body, "event").(string)
	if at(d.root, "webhooks", name) == nil {
		return fmt.Errorf("the document has no event %q", name)
	}
	return d.validate(body, []string{"webhooks", name, "post", "requestBody", "content", "application/json", "schema"})
}

// Delivery checks a request to a webhook endpoint: its headers, and its body against the operation that has the event's name.
func (d *Document) Delivery(header http.Header, body []byte) error {
	value, err := Decode(body)
	if err != nil {
		return err
	}
	if err := d.Event(value); err != nil {
		return err
	}
	name, _ := at(value, "event").(string)
	if got := header.Get("X-Service-Event"); got != name {
		return fmt.Errorf("X-Service-Event is %q, the body's event %q", got, name)
	}
	if got := header.Get("Content-Type"); got != "application/json" {
		return fmt.Errorf("the Content-Type is %q", got)
	}
	return d.headers(header, name)
}

// headers checks that a request has each header that the operation requires, and none of the server's own that it
// doesn't have.
func (d *Document) headers(header http.Header, event string) error {
	var faults []error
	known := map[string]bool{}
	parameters, _ := at(d.root, "webhooks", event, "post", "parameters").([]any)
	for _, parameter := range parameters {
		ref, _ := at(parameter, "$ref").(string)
		place := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		name, _ := at(d.root, append(place, "name")...).(string)
		values := header.Values(name)
		known[http.CanonicalHeaderKey(name)] = true
		switch {
		case len(values) > 1:
			faults = append(faults, fmt.Errorf("%s comes %d times", name, len(values)))
		case len(values) == 1:
			faults = append(faults, d.validate(values[0], append(place, "schema")))
		case at(d.root, append(place, "required")...) == true:
			faults = append(faults, fmt.Errorf("%s is missing", name))
		}
	}
	for name := range header {
		if (strings.HasPrefix(name, "X-") || strings.HasPrefix(name, "Webhook-")) && !known[name] {
			faults = append(faults, fmt.Errorf("the document has no header %s", name))
		}
	}
	return errors.Join(faults...)
}
