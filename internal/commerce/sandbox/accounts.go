//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"time"
)

// linkTime is the life of an onboarding link.
const linkTime = 5 * time.Minute

func createAccount(c *call) (any, error) {
	a := Account{
		ID: newID("acct_"), Seq: c.next(), Created: c.now.Unix(),
		Type: c.oneOf("type", "standard", "express", "custom"), Country: c.text("country"), Email: c.text("email"),
		Name: c.at("business_profile").text("name"), Metadata: c.metadata(),
	}
	c.ignore("business_profile", "business_type", "capabilities", "company", "controller", "default_currency", "individual", "settings",
		"tos_acceptance", "expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	if a.Country == "" {
		a.Country = "US"
	}
	c.put(record{Account: &a})
	return a.render(), nil
}

func getAccount(c *call) (any, error) {
	c.ignore("expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	a, known := c.accounts[c.r.PathValue("id")]
	if !known {
		return nil, c.server.noAccess(c.r.PathValue("id"))
	}
	return a.render(), nil
}

func listAccounts(c *call) (any, error) {
	return page(c, newest(c.order.accounts, c.accounts), func(a Account) string { return a.ID },
		func(a Account) int64 { return a.Created }, func(a Account) any { return a.render() })
}

func (a Account) render() object {
	capability, due := "inactive", []string{"external_account", "tos_acceptance.date"}
	if a.DetailsSubmitted {
		due = []string{}
	}
	if a.ChargesEnabled {
		capability = "active"
	}
	return object{
		"id": a.ID, "object": "account", "type": a.Type, "country": a.Country, "email": nullable(a.Email), "created": a.Created,
		"business_profile": object{"name": nullable(a.Name)}, "metadata": a.Metadata, "default_currency": "usd",
		"charges_enabled": a.ChargesEnabled, "details_submitted": a.DetailsSubmitted, "payouts_enabled": a.ChargesEnabled,
		"capabilities": object{"card_payments": capability, "transfers": capability},
		"requirements": object{"currently_due": due, "eventually_due": due, "past_due": []string{}, "pending_verification": []string{}},
	}
}

func createLink(c *call) (any, error) {
	l := Link{
		Token: newID(""), Account: c.must("account"), Created: c.now.Unix(), ExpiresAt: c.now.Add(linkTime).Unix(),
		ReturnURL: c.address("return_url"), RefreshURL: c.address("refresh_url"),
	}
	kind := c.oneOf("type", "", "account_onboarding", "account_update")
	c.ignore("collect", "collection_options", "expand")
	if err := c.done(); err != nil {
		return nil, err
	}
	for name, v := range map[string]string{"refresh_url": l.RefreshURL, "return_url": l.ReturnURL, "type": kind} {
		if v == "" {
			return nil, missing(name)
		}
	}
	if _, known := c.accounts[l.Account]; !known {
		return nil, none("account", l.Account, "account")
	}
	c.put(record{Link: &l})
	return object{
		"object": "account_link", "created": l.Created, "expires_at": l.ExpiresAt, "url": c.server.config.URL + "/onboarding/" + l.Token,
	}, nil
}

// updateAccount stores an account and emits its event.
func (c *change) updateAccount(a Account) {
	c.put(record{Account: &a})
	c.emit(a.ID, "account.updated", a.render())
}
