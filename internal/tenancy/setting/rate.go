package setting

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Rate is a percentage in hundredths of a percent, 0 to 10 000.
type Rate int64

// whole is 100 %.
const whole Rate = 100_00

// rateForm is a number with up to two decimals.
var rateForm = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,2}))?$`)

// ParseRate reads a percentage from 0 to 100 with at most two decimals, such as
// "2.5".
func ParseRate(text string) (Rate, error) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a number from 0 to 100 with at most two decimals", text)
	}
	hundredths, err := strconv.Atoi(parts[1] + (parts[2] + "00")[:2])
	if err != nil || Rate(hundredths) > whole {
		return 0, fmt.Errorf("%q is not a number from 0 to 100 with at most two decimals", text)
	}
	return Rate(hundredths), nil
}

// String returns the shortest form that ParseRate reads, without a percent sign.
func (r Rate) String() string {
	text := fmt.Sprintf("%d.%02d", r/100, r%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Of returns the share of an amount in cents, rounded half up to the cent. It can't
// overflow.
func (r Rate) Of(totalCents int64) int64 {
	wholes, rest := totalCents/int64(whole), totalCents%int64(whole)
	return wholes*int64(r) + (rest*int64(r)+int64(whole)/2)/int64(whole)
}
