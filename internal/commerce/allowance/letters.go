package allowance

import (
	"fmt"
	"strings"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/usage"
)

// letter says which thresholds a tenant has reached, and what follows.
func letter(to db.User, tenant db.Tenant, p usage.Period, reached []threshold) mail.Letter {
	l := mail.Letter{
		TenantID: tenant.ID, Kind: "usage_threshold", To: to.Email, Until: p.To,
		Subject: fmt.Sprintf("%s has used %d %% of its %s", tenant.Name, reached[0].percent, words(reached[0].Meter)),
		Opening: []string{
			fmt.Sprintf("Hello %s,", to.Name),
			fmt.Sprintf("since %s (UTC) your team has used, of what the plan %s includes until %s:",
				p.From.UTC().Format("2 January 2006"), p.Plan, p.To.UTC().Format("2 January 2006")),
		},
		Closing: []string{"A larger plan includes more. The usage of all meters is in your billing settings."},
	}
	for _, t := range reached {
		line := fmt.Sprintf("%d %% of the %s: %d of %d. %s", t.percent, words(t.Meter), t.Used, *t.Included, consequence(t))
		l.Opening = append(l.Opening, line)
	}
	return l
}

// words is a meter's name in a sentence.
func words(m usage.Meter) string { return strings.ToLower(strings.ReplaceAll(string(m), "_", " ")) }

// consequence says what happens above the included usage.
func consequence(t threshold) string {
	begin := "When all is used"
	if t.percent == 100 {
		begin = "From now on"
	}
	if t.Overage == usage.Block {
		return begin + ", new work of this kind is refused; work that runs continues."
	}
	if t.Overage == usage.Charge {
		return fmt.Sprintf("%s, each %d more are charged if your subscription is paid and active, up to your spend cap if you have one; "+
			"otherwise new work of this kind is refused.", begin, t.Units)
	}
	return "More is not charged."
}
