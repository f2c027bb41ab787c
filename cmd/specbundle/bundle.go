package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// bundle loads the document at root with every file that it refers to, and
// returns it as one YAML document. webhooks is the document of the webhooks,
// empty if there are no events. A component's name is the last token of the
// reference to it ("schemas/streams.yaml#/Stream" is Stream).
func bundle(ctx context.Context, root string) (document, webhooks []byte, err error) {
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.IsExternalRefsAllowed = true

	doc, err := loader.LoadFromFile(root)
	if err != nil {
		return nil, nil, fmt.Errorf("load %s: %w", root, err)
	}

	if doc.Components != nil && len(doc.Components.Responses) > 0 {
		// The library would replace each by a reference to itself.
		return nil, nil, fmt.Errorf("%s must not list components.responses: let the paths reference the file that holds them", root)
	}

	if doc.Components != nil {
		for _, scheme := range doc.Components.SecuritySchemes {
			scheme.Ref = "" // is written out in its place; the library would replace it by a reference to itself
		}
	}

	names := newComponentNames()
	doc.InternalizeRefs(ctx, names.resolve)
	if err := names.err(); err != nil {
		return nil, nil, err
	}

	addIdempotencyKey(doc)

	whole, err := tree(doc)
	if err != nil {
		return nil, nil, err
	}

	webhooks, err = webhooksOf(whole)
	if err != nil {
		return nil, nil, err
	}

	// 3.1, the version of the webhooks' document, can refer to a schema or null.
	if err := inlineNullable(whole); err != nil {
		return nil, nil, err
	}

	document, err = encode(whole)
	if err != nil {
		return nil, nil, err
	}

	return document, webhooks, checkStandsAlone(ctx, document)
}

// checkStandsAlone reads the bundle like an SDK generator: it must need no other
// file, and the document and its examples must be valid.
func checkStandsAlone(ctx context.Context, bundled []byte) error {
	loader := openapi3.NewLoader()
	loader.Context = ctx

	doc, err := loader.LoadFromData(bundled)
	if err != nil {
		return fmt.Errorf("read the bundle back: %w", err)
	}

	err = doc.Validate(ctx, openapi3.EnableExamplesValidation(), openapi3.EnableSchemaPatternValidation())
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}

	return nil
}

// componentNames assigns component names. It detects two different components
// with the same name, of which one would be lost silently.
type componentNames struct {
	origin map[string]map[string]struct{} // "schemas/Stream" -> places in the files
}

func newComponentNames() *componentNames {
	return &componentNames{origin: map[string]map[string]struct{}{}}
}

func (n *componentNames) resolve(_ *openapi3.T, ref openapi3.ComponentRef) string {
	reference := ref.RefString()
	name := reference[strings.LastIndex(reference, "/")+1:]

	place := reference
	if at := ref.RefPath(); at != nil {
		place = at.String()
	}

	key := path.Join(ref.CollectionName(), name)
	if n.origin[key] == nil {
		n.origin[key] = map[string]struct{}{}
	}
	n.origin[key][place] = struct{}{}

	return name
}

func (n *componentNames) err() error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(n.origin)) {
		places := slices.Sorted(maps.Keys(n.origin[key]))
		if len(places) > 1 {
			errs = append(errs, fmt.Errorf("component name %s is used by %s", key, strings.Join(places, " and ")))
		}
	}

	return errors.Join(errs...)
}
