package show

import "sync"

// encoded holds the encoding of a value that many callers get, so that it is made once.
type encoded struct {
	once sync.Once
	text []byte
	err  error
}

// Encoded returns what encode returned to the first caller. All callers pass the same function.
func (e *encoded) Encoded(encode func() ([]byte, error)) ([]byte, error) {
	e.once.Do(func() { e.text, e.err = encode() })
	return e.text, e.err
}
