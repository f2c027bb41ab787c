package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
)

const productsPath = "/v1/me/catalog/products"

// productEvents returns the events about a product in order: their names and data.
func productEvents(t *testing.T, s *apitest.Server, tenantID, productID string) (names []string, data []map[string]any) {
	t.Helper()
	rows, err := db.New(s.Pool).ListEvents(t.Context(), tenantID)
	require.NoError(t, err)
	for _, e := range rows {
		if e.Subject != productID {
			continue
		}
		var envelope struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(e.Payload, &envelope))
		names, data = append(names, e.Event), append(data, envelope.Data)
	}
	return names, data
}

func auditActions(t *testing.T, s *apitest.Server, tenantID, prefix string) (actions []string) {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(),
		"SELECT action FROM audit_entries WHERE tenant_id = $1 AND starts_with(action, $2) ORDER BY id", tenantID, prefix)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	require.NoError(t, rows.Err())
	return actions
}

func TestANewProductHasTheDefaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var p api.Product
	owner.Call(t, "POST", productsPath, `{"externalId":"MUG","name":"Mug","priceCents":0}`).Into(t, 201, &p)
	require.Regexp(t, `^prod_`, p.ID)
	require.Equal(t, "MUG", p.ExternalID)
	require.Empty(t, p.Description)
	require.True(t, p.ImageURL.IsNull())
	require.Nil(t, p.CompareAtCents)
	require.Equal(t, "usd", p.Currency)
	require.Equal(t, int64(-1), p.Stock)
	require.Equal(t, int64(5), p.LowStockAt)
	require.True(t, p.Active)
	require.True(t, p.ProcessorPriceID.IsNull())
	require.JSONEq(t, `{}`, string(p.Metadata))
	require.Equal(t, p.CreatedAt, p.UpdatedAt)

	var shown api.Product
	owner.Call(t, "GET", productsPath+"/"+p.ID, nil).Into(t, 200, &shown)
	require.Equal(t, p, shown)
	names, data := productEvents(t, s, owner.TenantID, p.ID)
	require.Equal(t, []string{"product.upserted"}, names)
	require.Equal(t, "usd", data[0]["currency"])
	require.NotContains(t, data[0], "compareAtCents")
	require.Equal(t, []string{"product.upsert"}, auditActions(t, s, owner.TenantID, "product."))
}

func TestAnUpsertKeepsMissingFields(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	whole := map[string]any{
		"externalId": "MUG", "name": "Mug", "description": "Stoneware", "imageUrl": "https://cdn.example/mug.jpg", "priceCents": 1999,
		"compareAtCents": 2499, "currency": "eUr", "stock": 40, "lowStockAt": 3, "active": true,
		"metadata": map[string]any{"color": "blue", "erp": json.Number("12345678901234567890"), "nested": []any{map[string]any{"a": nil}}},
	}
	var first, second, third api.Product
	owner.Call(t, "POST", productsPath, whole).Into(t, 201, &first)
	require.Equal(t, "eur", first.Currency)
	require.Contains(t, string(first.Metadata), "12345678901234567890", "numbers keep their digits")

	s.Clock.Advance(1e9)
	owner.Call(t, "POST", productsPath, whole).Into(t, 201, &second)
	require.Equal(t, first.UpdatedAt, second.UpdatedAt, "sending the same again changes nothing")
	owner.Call(t, "POST", productsPath, `{"externalId":"MUG","name":"Mug","priceCents":1999}`).Into(t, 201, &second)
	require.JSONEq(t, string(first.Metadata), string(second.Metadata))
	first.Metadata, second.Metadata = nil, nil
	require.Equal(t, first, second)

	owner.Call(t, "POST", productsPath,
		`{"externalId":"MUG","name":"Cup","priceCents":5,"imageUrl":null,"compareAtCents":null,"description":"","metadata":{},"stock":-1}`).Into(t, 201, &third)
	require.Equal(t, first.ID, third.ID)
	require.Equal(t, first.CreatedAt, third.CreatedAt)
	require.True(t, third.UpdatedAt.After(first.UpdatedAt.Time))
	require.Equal(t, "Cup", third.Name)
	require.True(t, third.ImageURL.IsNull())
	require.Nil(t, third.CompareAtCents)
	require.Empty(t, third.Description)
	require.JSONEq(t, `{}`, string(third.Metadata))
	require.Equal(t, int64(-1), third.Stock)
	require.Equal(t, int64(3), third.LowStockAt)
	require.Equal(t, "eur", third.Currency)

	names, _ := productEvents(t, s, owner.TenantID, first.ID)
	require.Equal(t, []string{"product.upserted", "product.upserted", "product.upserted", "product.upserted"}, names)
	other := s.Register(t).Product(t, map[string]any{"externalId": "MUG"})
	require.NotEqual(t, first.ID, other.ID, "SKUs are each tenant's own")
	require.NotEqual(t, first.ID, owner.Product(t, map[string]any{"externalId": "mug"}).ID, "with regard to case")
}

func TestAChangedProductDropsTheProcessorsPrice(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	base := map[string]any{"externalId": "MUG", "name": "Mug", "priceCents": 5, "currency": "usd", "stock": 1}
	p := owner.Product(t, base)
	for field, c := range map[string]struct {
		value any
		keeps bool
	}{
		"stock": {2, true}, "description": {"new", true}, "compareAtCents": {9, true}, "active": {false, true},
		"name": {"Cup", false}, "priceCents": {6, false}, "currency": {"eur", false},
	} {
		owner.Product(t, base)
		_, err := s.Pool.Exec(t.Context(), "UPDATE products SET processor_price_id = 'price_1' WHERE id = $1", p.ID)
		require.NoError(t, err)
		base := map[string]any{"externalId": "MUG", "name": "Mug", "priceCents": 5, "currency": "usd", field: c.value}
		require.Equal(t, c.keeps, !owner.Product(t, base).ProcessorPriceID.IsNull(), field)
	}
}

func TestProductInput(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for fields, field := range map[string]string{
		`"externalId":""`:                           "externalId",
		`"externalId":" "`:                          "externalId",
		`"externalId":7`:                            "externalId",
		`"externalId":"a\u0000"`:                    "externalId",
		`"name":""`:                                 "name",
		`"name":"\u0000"`:                           "name",
		`"priceCents":-1`:                           "priceCents",
		`"priceCents":100000000`:                    "priceCents",
		`"priceCents":19.99`:                        "priceCents",
		`"priceCents":"5"`:                          "priceCents",
		`"compareAtCents":-1`:                       "compareAtCents",
		`"stock":-2`:                                "stock",
		`"stock":1.5`:                               "stock",
		`"stock":1000000001`:                        "stock",
		`"lowStockAt":-1`:                           "lowStockAt",
		`"imageUrl":"ftp://x"`:                      "imageUrl",
		`"imageUrl":""`:                             "imageUrl",
		`"currency":"us"`:                           "currency",
		`"currency":"u s"`:                          "currency",
		`"currency":"zzz"`:                          "currency",
		`"currency":"dem"`:                          "currency",
		`"currency":null`:                           "currency",
		`"active":null`:                             "active",
		`"metadata":[]`:                             "metadata",
		`"metadata":{"a":["\u0000"]}`:               "metadata",
		`"metadata":{"a":{"\u0000":1}}`:             "metadata",
		`"metadata":{` + keys(101) + `}`:            "metadata",
		`"name":"` + strings.Repeat("n", 251) + `"`: "name",
	} {
		body := map[string]json.RawMessage{"externalId": json.RawMessage(`"A"`), "name": json.RawMessage(`"N"`), "priceCents": json.RawMessage(`1`)}
		require.NoError(t, json.Unmarshal([]byte("{"+fields+"}"), &body))
		p := owner.Call(t, "POST", productsPath, body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, fields)
		p = owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": []any{
			map[string]any{"externalId": "B", "name": "N", "priceCents": 1}, body,
		}}).Problem(t, 400, "invalid_input")
		require.Equal(t, "items.1."+field, p.Errors[0].Field, fields)
	}
	for _, missing := range []string{"externalId", "name", "priceCents"} {
		body := map[string]any{"externalId": "A", "name": "N", "priceCents": 1}
		delete(body, missing)
		require.Equal(t, missing, owner.Call(t, "POST", productsPath, body).Problem(t, 400, "invalid_input").Errors[0].Field)
	}
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", productsPath, nil).Is(t, 200).Body), "nothing was written")
	// The longest allowed texts, of the characters with the most bytes.
	owner.Product(t, map[string]any{
		"externalId": strings.Repeat("ᾷ", 128), "name": strings.Repeat("ΐ", 250), "metadata": json.RawMessage(`{` + keys(100) + `,"k1":"\ud800"}`),
	})
	require.Len(t, follow(t, owner, productsPath+"?q="+url.QueryEscape(strings.Repeat("ΐ", 200)), 50), 1)
}

func keys(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return strings.Join(list, ",")
}

func TestStockThresholdsEmitEventsWhenTheCatalogCrossesThem(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	set := func(stock, lowAt int) api.Product {
		return owner.Product(t, map[string]any{"externalId": "MUG", "stock": stock, "lowStockAt": lowAt})
	}
	p := set(0, 5) // a new product crosses no threshold
	var want []string
	step := func(stock, lowAt int, events ...string) {
		t.Helper()
		set(stock, lowAt)
		want = append(append(want, "product.upserted"), events...)
		names, _ := productEvents(t, s, owner.TenantID, p.ID)
		require.Equal(t, want, names[1:])
	}
	step(10, 5)
	step(6, 5)
	step(5, 5, "inventory.low")
	step(5, 5)
	step(4, 5)
	step(0, 5, "inventory.depleted")
	step(0, 5)
	step(6, 5)
	step(0, 5, "inventory.low", "inventory.depleted")
	step(-1, 5)
	step(3, 5, "inventory.low") // unlimited stock is above every threshold
	step(3, 9)                  // a change of the threshold alone emits nothing
	step(-1, 0)
	step(0, 0, "inventory.low", "inventory.depleted")

	names, data := productEvents(t, s, owner.TenantID, p.ID)
	last := len(names) - 1
	require.Nil(t, data[last]["orderId"])
	require.Contains(t, data[last], "orderId")
	require.Equal(t, "MUG", data[last]["externalId"])
	require.Zero(t, data[last]["stock"])
}

func TestArchivedProductsReturnByActiveOnly(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	p := owner.Product(t, map[string]any{"externalId": "MUG"})
	var archived, again api.Product
	s.Clock.Advance(1e9)
	owner.Call(t, "DELETE", productsPath+"/"+p.ID, nil).Into(t, 200, &archived)
	require.False(t, archived.Active)
	require.True(t, archived.UpdatedAt.After(p.UpdatedAt.Time))
	s.Clock.Advance(1e9)
	owner.Call(t, "DELETE", productsPath+"/"+p.ID, nil).Into(t, 200, &again)
	require.Equal(t, archived, again)
	names, data := productEvents(t, s, owner.TenantID, p.ID)
	require.Equal(t, []string{"product.upserted", "product.archived"}, names)
	require.Equal(t, false, data[1]["active"])
	require.Equal(t, []string{"product.upsert", "product.archive"}, auditActions(t, s, owner.TenantID, "product."))

	owner.Call(t, "GET", productsPath+"/"+p.ID, nil).Is(t, 200)
	require.Empty(t, follow(t, owner, productsPath+"?activeOnly=1", 50))
	require.Len(t, follow(t, owner, productsPath+"?activeOnly=0", 50), 1)
	require.False(t, owner.Product(t, map[string]any{"externalId": "MUG"}).Active, "a sync doesn't bring it back")
	require.True(t, owner.Product(t, map[string]any{"externalId": "MUG", "active": true}).Active)
	require.Len(t, follow(t, owner, productsPath+"?activeOnly=1", 50), 1)
	p404 := owner.Call(t, "DELETE", productsPath+"/prod_01m18qg1mhf2bsz1fk6m8v4jxe", nil).Problem(t, 404, "not_found")
	require.Equal(t, "product not found", p404.Message)
	p404 = owner.Call(t, "GET", productsPath+"/prod_01m18qg1mhf2bsz1fk6m8v4jxe", nil).Problem(t, 404, "not_found")
	require.Equal(t, "product not found", p404.Message)
}

func TestProductsAreFoundByAnyPartOfNameAndSKU(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	other.Product(t, map[string]any{"name": "Blue mug"})
	ids := map[string]string{}
	for sku, name := range map[string]string{
		"SKU-1": "Blue Mug", "SKU-2": "100% wool_sock", "sku\\3": "ÄRMEL Straße", "x": "x", "%": "nothing",
	} {
		ids[sku] = owner.Product(t, map[string]any{"externalId": sku, "name": name}).ID
	}
	for q, skus := range map[string][]string{
		"":            {"SKU-1", "SKU-2", "sku\\3", "x", "%"},
		"mug":         {"SKU-1"},
		"BLUE M":      {"SKU-1"},
		"sku":         {"SKU-1", "SKU-2", "sku\\3"},
		"-":           {"SKU-1", "SKU-2"},
		"%":           {"SKU-2", "%"},
		"_":           {"SKU-2"},
		"\\":          {"sku\\3"},
		"ärmel":       {"sku\\3"},
		"STRASSE":     {"sku\\3"},
		"x":           {"x"},
		"mugSKU":      {},
		"mug\nSKU":    {},
		"zzz":         {},
		"' OR 1=1 --": {},
	} {
		want := []string{}
		for _, sku := range skus {
			want = append(want, ids[sku])
		}
		for _, limit := range []int{1, 500} {
			got := follow(t, owner, fmt.Sprintf("%s?limit=%d&q=%s", productsPath, limit, url.QueryEscape(q)), limit)
			require.ElementsMatch(t, want, got, q)
		}
	}
	owner.Call(t, "DELETE", productsPath+"/"+ids["SKU-1"], nil).Is(t, 200)
	require.Equal(t, []string{ids["SKU-2"]}, follow(t, owner, productsPath+"?activeOnly=1&q=-", 50))
	for query, field := range map[string]string{"limit=501": "limit", "limit=0": "limit", "cursor=str_01m18qg1mhf2bsz1fk6m8v4jxe": "cursor", "activeOnly=2": "activeOnly"} {
		require.Equal(t, field, owner.Call(t, "GET", productsPath+"?"+query, nil).Problem(t, 400, "invalid_input").Errors[0].Field)
	}
}

func TestSyncCatalog(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	sync := func(items ...any) int {
		var result api.CatalogSyncResult
		owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items}).Into(t, 201, &result)
		return result.Upserted
	}
	item := func(sku string, fields map[string]any) map[string]any {
		body := map[string]any{"externalId": sku, "name": sku, "priceCents": 1}
		maps.Copy(body, fields)
		return body
	}
	require.Zero(t, sync([]any{}...))
	require.Empty(t, auditActions(t, s, owner.TenantID, "catalog."))
	kept := owner.Product(t, map[string]any{"externalId": "KEPT"})
	a := owner.Product(t, map[string]any{"externalId": "A", "stock": 9, "description": "stays"})
	require.Equal(t, 2, sync(
		item("B", map[string]any{"name": "first", "description": "first"}),
		item("A", map[string]any{"stock": 0}),
		item("B", map[string]any{"name": "last"}),
	))
	var products []api.Product
	owner.Call(t, "GET", productsPath, nil).Into(t, 200, &products)
	require.Len(t, products, 3)
	require.Equal(t, "last", products[0].Name)
	require.Empty(t, products[0].Description, "of several, the last one counts alone")
	require.Equal(t, a.ID, products[1].ID)
	require.Equal(t, "stays", products[1].Description)
	require.Zero(t, products[1].Stock)
	require.Equal(t, kept.ID, products[2].ID)
	names, _ := productEvents(t, s, owner.TenantID, a.ID)
	require.Equal(t, []string{"product.upserted", "product.upserted", "inventory.low", "inventory.depleted"}, names)
	names, _ = productEvents(t, s, owner.TenantID, products[0].ID)
	require.Equal(t, []string{"product.upserted"}, names)
	names, _ = productEvents(t, s, owner.TenantID, kept.ID)
	require.Len(t, names, 1)
	require.Equal(t, []string{"catalog.sync"}, auditActions(t, s, owner.TenantID, "catalog."))

	many := make([]any, 501)
	for i := range many {
		many[i] = item(strconv.Itoa(i), map[string]any{"metadata": map[string]any{"n": i}})
	}
	require.Equal(t, "items", owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": many}).Problem(t, 400, "invalid_input").Errors[0].Field)
	require.Equal(t, 500, sync(many[:500]...))
	require.Equal(t, 500, sync(many[:500]...))
	require.Len(t, follow(t, owner, productsPath+"?limit=500", 500), 503)

	// One fault refuses the whole sync, also a fault that the document can't express.
	faults := owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": []any{
		item("NEW", nil), item("C", map[string]any{"currency": "xxx"}), item("C", nil), item("D", map[string]any{"currency": "dem"}),
	}}).Problem(t, 400, "invalid_input").Errors
	require.Equal(t, []string{"items.1.currency", "items.3.currency"}, []string{faults[0].Field, faults[1].Field})
	require.Empty(t, follow(t, owner, productsPath+"?q=NEW", 50))

	big := strings.Repeat("d", 5000)
	for i := range many {
		many[i] = item(strconv.Itoa(i), map[string]any{"description": big})
	}
	require.Equal(t, 500, sync(many[:500]...), "2.5 MB are fine")
	for i := range many {
		many[i] = item(strconv.Itoa(i), map[string]any{"description": big, "metadata": map[string]any{"d": big + big}})
	}
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": many[:500]}).Problem(t, http.StatusRequestEntityTooLarge, "body_too_large")
}
