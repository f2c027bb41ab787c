package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/mail"
)

// MailboxPath is the path of the development mailbox. It shows mails that are not sent.
const MailboxPath = "/mailbox"

// letterPolicy allows a mail only its inline styles and the mailbox's frame.
const letterPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; " +
	"sandbox allow-popups allow-popups-to-escape-sandbox"

// mailbox serves the development mailbox: the page, the list that it loads, and
// each mail as its recipient would see it. It is no part of the API. The mails
// hold valid codes and links, so it answers only callers on this machine.
type mailbox struct {
	mails *mail.Service
	// trust is pipeline.Settings.TrustLoopback.
	trust bool
}

// mount adds the mailbox's routes if there is a mailbox.
func (m mailbox) mount(e *echo.Echo, pages http.Handler) {
	if m.mails == nil || !m.mails.HasMailbox() {
		return
	}
	e.GET(MailboxPath, m.guard(echo.WrapHandler(pages)))
	e.GET(MailboxPath+"/mails", m.guard(m.list))
	e.GET(MailboxPath+"/mails/:id", m.guard(m.show))
}

// guard answers 404 to callers on other machines.
func (m mailbox) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !m.trust || !netaddr.FromThisMachine(c.Request()) {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// keptMail is a mail in the list.
type keptMail struct {
	ID      string         `json:"id"`
	To      string         `json:"to"`
	Kind    string         `json:"kind"`
	Subject string         `json:"subject"`
	Text    string         `json:"text"`
	At      timestamp.Time `json:"at"`
}

func (m mailbox) list(c echo.Context) error {
	mails, err := m.mails.ListMailbox(c.Request().Context())
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, each(mails, func(k mail.Kept) keptMail {
		return keptMail{ID: k.ID, To: k.To, Kind: k.Kind, Subject: k.Subject, Text: k.Text, At: timestamp.From(k.At)}
	}))
}

func (m mailbox) show(c echo.Context) error {
	kept, err := m.mails.GetMailboxMail(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set(echo.HeaderContentSecurityPolicy, letterPolicy)
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	// A link must not open inside the frame that shows the mail.
	return c.HTML(http.StatusOK, strings.Replace(kept.HTML, "<head>", `<head><base target="_blank">`, 1))
}
