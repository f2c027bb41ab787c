package sandbox

import (
	"bytes"
	"crypto/subtle"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed pages
var pageFiles embed.FS

// pages are all templates. They are part of the program, so a fault shows in the
// first test.
//
//nolint:gochecknoglobals // read once, never changed
var pages = template.Must(template.ParseFS(pageFiles, "pages/*.html"))

// view is the data of every template.
type view struct {
	Title, Base string
	// Kind is the name of the template and the class of the body.
	Kind string
	Page any
}

// policy allows a page its style and pictures, and no scripts. It doesn't limit where
// a form's answer redirects, because the buyer continues on the seller's site.
const policy = "default-src 'none'; style-src 'self'; img-src http: https: data:; form-action http: https:; " +
	"base-uri 'none'; frame-ancestors 'none'"

func (s *Server) routePages() {
	// Other sites can't submit our forms.
	guard := http.NewCrossOriginProtection()
	if u, err := url.Parse(s.config.URL); err == nil {
		// Behind a proxy the Host header may be another one.
		if err := guard.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			s.config.Log.Warn("the sandbox's URL is no origin", "error", err)
		}
	}
	handle := func(pattern string, h http.HandlerFunc) { s.router.Handle(pattern, guard.Handler(h)) }
	handle("GET /{$}", s.showDashboard)
	s.router.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.notFound(w) })
	handle("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		http.ServeFileFS(w, r, pageFiles, "pages/style.css")
	})
	handle("GET /pay/{id}", s.showCheckout)
	handle("POST /pay/{id}", s.submitCheckout)
	handle("GET /onboarding/{token}", s.showOnboarding)
	handle("POST /onboarding/{token}", s.submitOnboarding)
	handle("POST /actions/{action}", s.act)
	handle("GET /invoices/{id}", s.showInvoice)
	handle("POST /invoices/{id}", s.submitInvoice)
	handle("GET /invoices/{id}/pdf", s.showInvoicePDF)
	handle("GET /portal/{token}", s.showPortal)
	handle("POST /portal/{token}", s.submitPortal)
}

func (s *Server) show(w http.ResponseWriter, status int, kind, title string, page any) {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, kind, view{Title: title, Base: s.base, Kind: kind, Page: page}); err != nil {
		s.config.Log.Error("the sandbox's page failed", "page", kind, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	// Our own forms send their origin; other sites get no Referer from us.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // fails if the client has disconnected
}

// Tones are classes of the stylesheet.
const (
	good = "good"
	bad  = "bad"
	wait = "wait"
	idle = "idle"
)

// message is a page with only a message.
type message struct{ Tone, Sign, Text, BackURL, BackText string }

func (s *Server) notFound(w http.ResponseWriter) {
	s.show(w, http.StatusNotFound, "message", "Page not found", message{
		Tone: idle, Sign: "?", Text: "The link may be wrong, or the sandbox’s data was deleted.",
	})
}

// failed shows why an action failed.
func (s *Server) failed(w http.ResponseWriter, err error, backURL string) {
	var r *refusal
	if !errors.As(err, &r) {
		s.config.Log.Error("the sandbox failed", "error", err)
		r = &refusal{status: http.StatusInternalServerError, message: "Something went wrong."}
	}
	s.show(w, r.status, "message", "That didn’t work", message{Tone: bad, Sign: "!", Text: r.message, BackURL: backURL, BackText: "Back"})
}

// maxForm is the largest form of a page, in bytes.
const maxForm = 16 << 10

// fields reads the form of a page.
func fields(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, invalid("", "", "The form can't be read.")
	}
	return r.PostForm, nil
}

const maxField = 200

func cleaned(v string) string {
	v = strings.TrimSpace(v)
	if utf8.RuneCountInString(v) > maxField || !utf8.ValidString(v) {
		return ""
	}
	return v
}

// onboardingPage is the onboarding form.
type onboardingPage struct {
	Account            Account
	Name, Email, Error string
}

// visitCookie proves that this browser was the first to open the link.
const visitCookie = "sandbox_visit"

// showOnboarding opens a link once. The browser that opened it may load it again.
func (s *Server) showOnboarding(w http.ResponseWriter, r *http.Request) {
	var l Link
	var a Account
	known, mine := false, false
	err := s.do(func(c *change) error {
		if l, known = c.links[r.PathValue("token")]; !known {
			return nil
		}
		a = c.accounts[l.Account]
		mine = l.visitedBy(r) && !l.Done
		if l.Visit == "" && c.now.Unix() < l.ExpiresAt && r.Method != http.MethodHead { // a HEAD doesn't use the link up
			l.Visit, mine = newID(""), true
			c.put(record{Link: &l})
		}
		return nil
	})
	switch {
	case err != nil:
		s.failed(w, err, "")
	case !known:
		s.notFound(w)
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	case !mine:
		http.Redirect(w, r, l.RefreshURL, http.StatusSeeOther)
	default:
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where the server is reached by https
			Name: visitCookie, Value: l.Visit, Path: s.base + "/onboarding/" + l.Token, HttpOnly: true, SameSite: http.SameSiteLaxMode,
			Secure: strings.HasPrefix(s.config.URL, "https:"), MaxAge: int((24 * time.Hour).Seconds()),
		})
		page := onboardingPage{Account: a, Name: a.Name, Email: a.Email}
		if page.Name == "" {
			page.Name = "Corner Shop"
		}
		if page.Email == "" {
			page.Email = "owner@example.test"
		}
		s.show(w, http.StatusOK, "onboarding", "Set up your seller account", page)
	}
}

func (l Link) visitedBy(r *http.Request) bool {
	cookie, err := r.Cookie(visitCookie)
	return err == nil && l.Visit != "" && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(l.Visit)) == 1
}

func (s *Server) submitOnboarding(w http.ResponseWriter, r *http.Request) {
	form, err := fields(w, r)
	if err != nil {
		s.failed(w, err, "")
		return
	}
	name, email, finish := cleaned(form.Get("name")), cleaned(form.Get("email")), form.Get("action") == "finish"
	var l Link
	known, wrong, mine := false, false, false
	var a Account
	err = s.do(func(c *change) error {
		l, known = c.links[r.PathValue("token")]
		if mine = l.visitedBy(r) && !l.Done; !mine {
			return nil
		}
		a = c.accounts[l.Account]
		if wrong = finish && (name == "" || !strings.Contains(email, "@")); wrong {
			return nil
		}
		l.Done = true
		c.put(record{Link: &l})
		if finish {
			a.Name, a.Email, a.DetailsSubmitted = name, email, true
			a.ChargesEnabled = form.Get("review") == ""
			c.updateAccount(a)
		}
		return nil
	})
	switch {
	case err != nil:
		s.failed(w, err, "")
	case !known:
		s.notFound(w)
	case wrong:
		page := onboardingPage{Account: a, Name: name, Email: email, Error: "Enter the name of your business and its e-mail address."}
		s.show(w, http.StatusUnprocessableEntity, "onboarding", "Set up your seller account", page)
	case !mine:
		http.Redirect(w, r, l.RefreshURL, http.StatusSeeOther)
	default:
		http.Redirect(w, r, l.ReturnURL, http.StatusSeeOther)
	}
}
