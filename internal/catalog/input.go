package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"showfloor/gen/db"
	"showfloor/internal/problem"
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

// Nullable is an optional value that may be given as null: nil then.
type Nullable[T any] struct {
	Given bool
	Value *T
}

// Input is a product as its shop knows it; the door has checked the limits of
// each field. What is nil or not Given keeps its value, or gets the default of a
// new product.
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

// maxFaults is how many faults are named at most.
const maxFaults = 100

// mostMetadata is how large a product's metadata may be, in bytes of JSON: each change of
// the product writes it again, into the event as well.
const mostMetadata = 64 << 10

// check returns the inputs in the form in which they are stored, or names what is
// wrong with them; path is what comes before the n-th input's field names.
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
				faults = append(faults, problem.Field{Field: path(n) + "metadata", Message: "holds a character that can't be stored, such as NUL"})
			}
			if len(in.Metadata) > mostMetadata {
				faults = append(faults, problem.Field{Field: path(n) + "metadata", Message: "has more than 64 KiB"})
			}
		}
		checked[n] = in
	}
	if len(faults) > 0 {
		p := problem.New(problem.Invalid, "invalid_input", "the request is not valid")
		p.Fields = faults[:min(len(faults), maxFaults)]
		return nil, p
	}
	return checked, nil
}

// lastOfEach keeps of inputs with the same SKU the last one, in its place.
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

// merge is the product after an input. Before is what it was, and has no id when
// it is new; the id and times of a new one are left to the caller.
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
	// The processor's price is for what it was made for.
	if p.Name != before.Name || p.PriceCents != before.PriceCents || p.Currency != before.Currency {
		p.ProcessorPriceID = nil
	}
	p.Search = searchText(p.Name, p.ExternalID)
	return p
}

// same tells whether two states of a product are equal.
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

// canonical writes a JSON text in one form, whatever its spaces, escapes and
// order of keys. What no database can hold isn't storable.
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

// sameJSON compares what the database holds, in its own form, with a canonical
// text.
func sameJSON(stored, text json.RawMessage) bool {
	stored, ok := canonical(stored)
	return ok && bytes.Equal(stored, text)
}

// separator is a code point that is no character, so that a search doesn't find
// the end of one field and the beginning of the next.
const separator = "\uffff"

// searchText is what searches look through. Its length is bounded by the fields':
// folding makes at most 6 bytes of a character, so that an index can hold it.
func searchText(name, externalID string) string { return fold(name) + separator + fold(externalID) }

// fold takes the differences of case out of a text.
func fold(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return cases.Fold().String(text)
		}
	}
	return strings.ToLower(text)
}

// pattern is the LIKE pattern of all texts that contain q; of all texts when q is
// empty.
func pattern(q string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(q)) + "%"
}

// itemPath names the n-th item of a sync.
func itemPath(n int) string { return fmt.Sprintf("items.%d.", n) }

// bodyPath is that of a single product.
func bodyPath(int) string { return "" }
