package pipeline

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
)

// limitEmail limits attempts on an e-mail address: all attempts, sign-up mails, and failed logins. It runs after the
// validation, so that it sees the value that the handler gets.
func (c *contract) limitEmail(l *limits, emails EmailLimits) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || !op.class.isAuth() {
				return next(e)
			}
			email, ip := emailIn(e.Request()), request.Origin(e.Request().Context()).IP
			if email == "" {
				return next(e)
			}
			if err := l.take(e, emails.Attempt(email, ip)); err != nil {
				return err
			}
			switch op.class {
			case classMail:
				if err := l.take(e, emails.SignupMail(email, ip)); err != nil {
					return err
				}
			case classLogin:
				return limitLogin(e, emails, email, ip, next)
			}
			return next(e)
		}
	}
}

// limitLogin refuses a login if too many have failed, and counts its result otherwise.
func limitLogin(e echo.Context, emails EmailLimits, email, ip string, next echo.HandlerFunc) error {
	ctx := e.Request().Context()
	over, state, err := emails.CheckLogin(ctx, email, ip)
	if err != nil {
		return err
	}
	if over != nil {
		showLimit(e, over.Policy, state)
		return overLimit(over.Policy, state)
	}
	err = next(e)
	emails.CountLogin(ctx, email, ip, err)
	return err
}

// emailIn returns the e-mail address in a validated body, or "" if there is none.
func emailIn(r *http.Request) string {
	read, ok := r.Body.(interface{ ValidatedValue() any })
	if !ok {
		return ""
	}
	body, _ := read.ValidatedValue().(map[string]any)
	email, _ := body["email"].(string)
	return email
}
