package schematest

import (
	"fmt"
	"mime"
	"strconv"
	"strings"
)

// Answer is an answer of the server.
type Answer struct {
	// Method and Path name the operation; Path is written as in the document, with {parameters}.
	Method, Path string
	Status       int
	ContentType  string
	// Value is the body, as Decode returns it.
	Value any
}

// CheckAnswer checks an answer against the published API document. An answer to HEAD has no body and can't be checked.
func CheckAnswer(a Answer) error {
	doc, err := API()
	if err != nil {
		return err
	}
	if err := doc.Response(a); err != nil {
		return fmt.Errorf("not as the document says, strictly: %w", err)
	}
	return nil
}

// Response checks an answer's status, media type and body.
func (d *Document) Response(a Answer) error {
	place := []string{"paths", a.Path, strings.ToLower(a.Method), "responses"}
	responses, isObject := at(d.root, place...).(map[string]any)
	if !isObject {
		return fmt.Errorf("the document has no %s %s", a.Method, a.Path)
	}
	status := strconv.Itoa(a.Status)
	for _, key := range []string{status, status[:1] + "XX", "default"} {
		if responses[key] != nil {
			return d.content(a, append(place, key))
		}
	}
	return fmt.Errorf("the document has no answer %s", status)
}

// content checks an answer by the description at a place.
func (d *Document) content(a Answer, place []string) error {
	description := at(d.root, place...)
	if ref, isRef := at(description, "$ref").(string); isRef {
		place = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		description = at(d.root, place...)
	}
	media, isObject := at(description, "content").(map[string]any)
	if !isObject {
		return nil // an answer without a body
	}
	name, _, err := mime.ParseMediaType(a.ContentType)
	if err != nil {
		return fmt.Errorf("Content-Type %q: %w", a.ContentType, err)
	}
	if media[name] == nil {
		return fmt.Errorf("the document has no answer in %s", name)
	}
	return d.validate(a.Value, append(place, "content", name, "schema"))
}
