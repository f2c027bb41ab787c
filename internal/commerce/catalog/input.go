package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// Defaults of a new product.
const (
	defaultCurrency   = "USD"
	defaultStock      = uncounted
	defaultLowStockAt = 5
	noMetadata        = "{}"
)

// uncounted is the stock of a product that never runs out.
const uncounted = -1

// Nullable is an optional value that may be null: then Given is true and Value is
// nil.
type Nullable[T any] struct {
	Given bool
	Value *T
}

// Input is a product as the tenant's shop sends it. The handler has checked the
// limits of each field. A field that is nil or not Given keeps its value, or gets
// the default in a new product.
type Input struct {
	ExternalID  string
	Name        string
	Description *string
	ImageURL    Nullable[string]
	// PriceCents and CompareAtCents are in the currency's smallest unit.
	PriceCents     int64
	CompareAtCents Nullable[int64]
	// Currency in either case.
	Currency          *string
	Stock, LowStockAt *int64
	Active            *bool
	// Metadata is a JSON object.
	Metadata json.RawMessage
}

// maxFaults is the maximum number of faults in one answer.
const maxFaults = 100

// mostMetadata is the maximum size of a product's metadata, in bytes of JSON. Each
// change of the product writes it again, also into the event.
const mostMetadata = 64 << 10

// check returns the inputs in their stored form, or a problem with their faults.
// path is the prefix of the n-th input's field names.
func check(list []Input, path func(n int) string) ([]Input, error) {
	var faults []problem.Field
	checked := make([]Input, len(list))
	for n, in := range list {
		if in.Currency != nil {
			code := strings.ToUpper(*in.Currency)
			if in.Currency = &code; !isCurrency(code) {
				faults = append(faults, problem.Field{Field: path(n) + "currency", Message: "is no ISO 4217 code of a currency that can be paid in"})
			}
		}
		if in.Metadata != nil {
			var storable bool
			if in.Metadata, storable = canonical(in.Metadata); !storable {
				faults = append(faults, problem.Field{Field: path(n) + "metadata", Message: postgres.UnstorableFault})
			}
			if len(in.Metadata) > mostMetadata {
				faults = append(faults, problem.Field{Field: path(n) + "metadata", Message: "has more than 64 KiB"})
			}
		}
		checked[n] = in
	}
	if len(faults) > 0 {
		return nil, problem.BadFields(faults[:min(len(faults), maxFaults)])
	}
	return checked, nil
}

// lastOfEach removes inputs whose SKU occurs again later in the list.
func lastOfEach(list []Input) []Input {
	last := make(map[string]int, len(list))
	for n, in := range list {
		last[in.ExternalID] = n
	}
	kept := make([]Input, 0, len(last))
	for n, in := range list {
		if last[in.ExternalID] == n {
			kept = append(kept, in)
		}
	}
	return kept
}

// merge is the product after an input. before is the product as it was; its id is
// empty if it is new. The caller sets a new product's id and times.
func merge(before db.Product, in Input) db.Product {
	p := before
	if p.ID == "" {
		p = db.Product{
			ExternalID: in.ExternalID, Currency: defaultCurrency, Stock: defaultStock, LowStockAt: defaultLowStockAt,
			Active: true, Metadata: json.RawMessage(noMetadata),
		}
	}
	p.Name, p.PriceCents = in.Name, in.PriceCents
	set(&p.Description, in.Description)
	set(&p.Currency, in.Currency)
	set(&p.Stock, in.Stock)
	set(&p.LowStockAt, in.LowStockAt)
	set(&p.Active, in.Active)
	if in.ImageURL.Given {
		p.ImageURL = in.ImageURL.Value
	}
	if in.CompareAtCents.Given {
		p.CompareAtCents = in.CompareAtCents.Value
	}
	if in.Metadata != nil && !sameJSON(before.Metadata, in.Metadata) {
		p.Metadata = in.Metadata
	}
	// The processor's price is valid only for this name, price and currency.
	if p.Name != before.Name || p.PriceCents != before.PriceCents || p.Currency != before.Currency {
		p.ProcessorPriceID = nil
	}
	p.Search = searchText(p.Name, p.ExternalID)
	return p
}

// same reports whether two states of a product are equal.
func same(a, b db.Product) bool {
	return a.Name == b.Name && a.Description == b.Description && equal(a.ImageURL, b.ImageURL) && a.PriceCents == b.PriceCents &&
		equal(a.CompareAtCents, b.CompareAtCents) && a.Currency == b.Currency && a.Stock == b.Stock && a.LowStockAt == b.LowStockAt &&
		a.Active == b.Active && equal(a.ProcessorPriceID, b.ProcessorPriceID) && a.Search == b.Search && bytes.Equal(a.Metadata, b.Metadata)
}

func set[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// canonical rewrites a JSON text in one form, independent of spaces, escapes and
// the order of keys. storable is false for a text that the database can't store.
func canonical(raw json.RawMessage) (_ json.RawMessage, storable bool) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a float64 holds 53 bits only
	if err := decoder.Decode(&value); err != nil || !storableValue(value) {
		return nil, false
	}
	text, err := json.Marshal(value)
	return text, err == nil
}

func storableValue(value any) bool {
	switch v := value.(type) {
	case string:
		return !strings.ContainsRune(v, 0)
	case []any:
		for _, e := range v {
			if !storableValue(e) {
				return false
			}
		}
	case map[string]any:
		for name, e := range v {
			if strings.ContainsRune(name, 0) || !storableValue(e) {
				return false
			}
		}
	}
	return true
}

// sameJSON compares JSON in the database's form with a canonical text.
func sameJSON(stored, text json.RawMessage) bool {
	stored, ok := canonical(stored)
	return ok && bytes.Equal(stored, text)
}

// separator is a code point that isn't a character, so that no search matches
// across the boundary of two fields.
const separator = "\uffff"

// searchText is the text that searches look through. Its length is bounded by the
// fields' limits, so that an index can hold it: folding makes at most 6 bytes of a
// character.
func searchText(name, externalID string) string { return fold(name) + separator + fold(externalID) }

// fold removes differences of case from a text.
func fold(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return cases.Fold().String(text)
		}
	}
	return strings.ToLower(text)
}

// pattern is the LIKE pattern for texts that contain q; an empty q matches all
// texts.
func pattern(q string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(q)) + "%"
}

// itemPath is the path of the n-th item of a sync.
func itemPath(n int) string { return fmt.Sprintf("items.%d.", n) }

// bodyPath is the path of a single product.
func bodyPath(int) string { return "" }
