//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import "strings"

// PortalConfiguration is what customers may do in the portal.
type PortalConfiguration struct {
	ID       string            `json:"id"`
	Created  int64             `json:"created"`
	Updated  int64             `json:"updated"`
	Inactive bool              `json:"inactive"`
	Default  bool              `json:"default"`
	Headline string            `json:"headline"`
	Privacy  string            `json:"privacy"`
	Terms    string            `json:"terms"`
	BackURL  string            `json:"backUrl"`
	Metadata map[string]string `json:"metadata"`
	// The features.
	Cards    bool     `json:"cards"`
	Invoices bool     `json:"invoices"`
	Customer bool     `json:"customer"`
	Fields   []string `json:"fields"`
	Cancel   bool     `json:"cancel"`
	// CancelNow: a cancellation ends the subscription at once.
	CancelNow bool `json:"cancelNow"`
}

// PortalSession is a customer's visit of the portal.
type PortalSession struct {
	ID       string `json:"id"`
	Token    string `json:"token"`
	Created  int64  `json:"created"`
	Customer string `json:"customer"`
	PortalID string `json:"portalId"`
	BackURL  string `json:"backUrl"`
	Flow     string `json:"flow"`
	// Subscription is the one that the flow cancels.
	Subscription string `json:"subscription"`
}

// visitTime is the life of a portal session, in seconds.
const visitTime = hour

func portalRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"POST /v1/billing_portal/configurations":      createPortal,
		"GET /v1/billing_portal/configurations":       listPortals,
		"GET /v1/billing_portal/configurations/{id}":  getPortal,
		"POST /v1/billing_portal/configurations/{id}": updatePortal,
		"POST /v1/billing_portal/sessions":            createVisit,
	}
}

// readPortal reads the fields that a creation and an update share.
func (c *call) readPortal(p *PortalConfiguration) {
	business := c.at("business_profile")
	p.Headline, p.Privacy = business.textOr("headline", p.Headline), business.textOr("privacy_policy_url", p.Privacy)
	p.Terms, p.BackURL = business.textOr("terms_of_service_url", p.Terms), c.textOr("default_return_url", p.BackURL)
	p.Metadata, p.Inactive = c.merged(p.Metadata), !c.flagOr("active", !p.Inactive)
	f := c.at("features")
	p.Cards = f.at("payment_method_update").flagOr("enabled", p.Cards)
	p.Invoices = f.at("invoice_history").flagOr("enabled", p.Invoices)
	p.Customer = f.at("customer_update").flagOr("enabled", p.Customer)
	if f.at("customer_update").has("allowed_updates") {
		p.Fields = f.at("customer_update").texts("allowed_updates")
		f.at("customer_update").ignore("allowed_updates")
	}
	cancel := f.at("subscription_cancel")
	p.Cancel = cancel.flagOr("enabled", p.Cancel)
	if cancel.has("mode") {
		p.CancelNow = cancel.oneOf("mode", "at_period_end", "immediately") == "immediately"
	}
	cancel.ignore("proration_behavior", "cancellation_reason")
	update := f.at("subscription_update")
	if update.flagOr("enabled", false) {
		f.fail(invalid("", update.key("enabled"), "The sandbox's portal can't change the items of subscriptions."))
	}
	update.ignore("default_allowed_updates", "products", "proration_behavior")
	f.ignore("subscription_pause")
	c.ignore("login_page")
	p.Updated = c.now.Unix()
}

func createPortal(c *call) (any, error) {
	p := PortalConfiguration{ID: newID("bpc_"), Created: c.now.Unix(), Metadata: map[string]string{}}
	if !c.has("features") {
		c.fail(missing("features"))
	}
	c.readPortal(&p)
	if err := c.done(); err != nil {
		return nil, err
	}
	p.Default = len(c.portals.ids) == 0
	c.set(billingRecord{Portal: &p})
	c.report("billing_portal.configuration.created", p.render())
	return p.render(), nil
}

func listPortals(c *call) (any, error) {
	active, standard := c.text("active"), c.text("is_default")
	return pageOf(c, &c.portals, func(p PortalConfiguration) bool {
		return (active == "" || p.Inactive != (active == yes)) && (standard == "" || p.Default == (standard == yes))
	}, func(p PortalConfiguration) string { return p.ID }, func(p PortalConfiguration) int64 { return p.Created },
		func(p PortalConfiguration) any { return p.render() })
}

func getPortal(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	p, known := c.portals.rows[c.r.PathValue("id")]
	if !known {
		return nil, none("configuration", c.r.PathValue("id"), "id")
	}
	return p.render(), nil
}

func updatePortal(c *call) (any, error) {
	p, known := c.portals.rows[c.r.PathValue("id")]
	before := p
	c.readPortal(&p)
	if err := c.done(); err != nil {
		return nil, err
	}
	if !known {
		return nil, none("configuration", c.r.PathValue("id"), "id")
	}
	c.set(billingRecord{Portal: &p})
	c.reportUpdate("billing_portal.configuration.updated", before.render(), p.render())
	return p.render(), nil
}

// createVisit opens the portal for a customer. Without a configuration, the oldest one is used.
func createVisit(c *call) (any, error) {
	v := PortalSession{
		ID: newID("bps_"), Token: newID(""), Created: c.now.Unix(), Customer: c.must("customer"), PortalID: c.text("configuration"),
		BackURL: c.address("return_url"),
	}
	if f := c.at("flow_data"); c.has("flow_data") {
		v.Flow = f.oneOf("type", "", "payment_method_update", "subscription_cancel")
		v.Subscription = f.at("subscription_cancel").text("subscription")
		f.ignore("after_completion")
	}
	c.ignore("locale")
	if err := c.done(); err != nil {
		return nil, err
	}
	if _, err := c.customer(v.Customer, "customer"); err != nil {
		return nil, err
	}
	if v.PortalID == "" {
		if len(c.portals.ids) == 0 {
			return nil, refuse("", "", "No configuration provided and your test mode default configuration has not been created. Provide a "+
				"configuration or create your default by saving your customer portal settings in test mode.")
		}
		v.PortalID = c.portals.ids[0]
	}
	p, known := c.portals.rows[v.PortalID]
	if !known || p.Inactive {
		return nil, none("configuration", v.PortalID, "configuration")
	}
	if v.Flow == "subscription_cancel" && c.subscriptions.rows[v.Subscription].CustomerID != v.Customer {
		return nil, none("subscription", v.Subscription, "flow_data[subscription_cancel][subscription]")
	}
	if v.BackURL == "" {
		v.BackURL = p.BackURL
	}
	c.set(billingRecord{Visit: &v})
	c.report("billing_portal.session.created", v.render(c.url))
	return v.render(c.url), nil
}

func (v PortalSession) render(url string) object {
	var flow any
	if v.Flow != "" {
		flow = object{"type": v.Flow}
	}
	return object{
		"id": v.ID, "object": "billing_portal.session", "created": v.Created, "livemode": false, "customer": v.Customer,
		"configuration": v.PortalID, "return_url": nullable(v.BackURL), "url": url + "/portal/" + v.Token, "flow": flow, "locale": nil,
		"on_behalf_of": nil,
	}
}

func (p PortalConfiguration) render() object {
	mode, fields := "at_period_end", []any{}
	if p.CancelNow {
		mode = "immediately"
	}
	for _, name := range p.Fields {
		fields = append(fields, strings.TrimSpace(name))
	}
	return object{
		"id": p.ID, "object": "billing_portal.configuration", "created": p.Created, "updated": p.Updated, "livemode": false,
		"active": !p.Inactive, "is_default": p.Default, "default_return_url": nullable(p.BackURL), "metadata": p.Metadata,
		"business_profile": object{
			"headline": nullable(p.Headline), "privacy_policy_url": nullable(p.Privacy), "terms_of_service_url": nullable(p.Terms),
		},
		"features": object{
			"customer_update":       object{"enabled": p.Customer, "allowed_updates": fields},
			"invoice_history":       object{"enabled": p.Invoices},
			"payment_method_update": object{"enabled": p.Cards},
			"subscription_cancel":   object{"enabled": p.Cancel, "mode": mode, "proration_behavior": "none"},
			"subscription_pause":    object{"enabled": false},
			"subscription_update":   object{"enabled": false, "default_allowed_updates": []any{}, "proration_behavior": "none", "products": nil},
		},
		"login_page": object{"enabled": false, "url": nil},
	}
}
