package batch

import "errors"

// Each calls do with every row and joins the errors. A failure doesn't stop the others.
func Each[T any](rows []T, do func(row T) error) error {
	var errs []error
	for _, row := range rows {
		errs = append(errs, do(row))
	}
	return errors.Join(errs...)
}
