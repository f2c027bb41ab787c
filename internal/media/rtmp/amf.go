package rtmp

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/bluenviron/gortmplib/pkg/amf0"
)

// Bounds of one decoded command. Real clients stay far below them.
const (
	maxAMFDepth  = 8
	maxAMFValues = 512
)

var errAMF = errors.New("malformed AMF0")

// amfReader decodes untrusted AMF0. Unlike amf0.Unmarshal, it bounds depth and number of
// values, and skips types that the server doesn't need.
type amfReader struct {
	buf    []byte
	values int
}

// parseAMF decodes values up to the end of buf or the first invalid one. The values before that
// are kept, since clients append non-standard data.
func parseAMF(buf []byte) []any {
	r := amfReader{buf: buf}
	var out []any
	for len(r.buf) > 0 {
		v, err := r.value(0)
		if err != nil {
			break
		}
		out = append(out, v)
	}
	return out
}

// value decodes one value to float64, bool, string, amf0.Object,
// amf0.StrictArray or nil.
func (r *amfReader) value(depth int) (any, error) {
	r.values++
	if depth > maxAMFDepth || r.values > maxAMFValues {
		return nil, errAMF
	}
	marker, err := r.take(1)
	if err != nil {
		return nil, err
	}
	switch marker[0] {
	case 0x00: // number
		b, err := r.take(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case 0x01: // boolean
		b, err := r.take(1)
		if err != nil {
			return nil, err
		}
		return b[0] != 0, nil
	case 0x02:
		return r.text(2)
	case 0x0C, 0x0F: // long string, XML document
		return r.text(4)
	case 0x03:
		return r.object(depth)
	case 0x10: // typed object: class name, then an object
		if _, err := r.text(2); err != nil {
			return nil, err
		}
		return r.object(depth)
	case 0x08: // ECMA array: a count that may be wrong, then an object
		if _, err := r.take(4); err != nil {
			return nil, err
		}
		return r.object(depth)
	case 0x0A:
		return r.array(depth)
	case 0x05, 0x06, 0x0D: // null, undefined, unsupported
		return nil, nil
	case 0x07: // reference
		_, err := r.take(2)
		return nil, err
	case 0x0B: // date and time zone
		_, err := r.take(10)
		return nil, err
	}
	return nil, errAMF
}

func (r *amfReader) object(depth int) (any, error) {
	var out amf0.Object
	for {
		key, err := r.text(2)
		if err != nil {
			return nil, err
		}
		if key == "" {
			end, err := r.take(1)
			if err != nil || end[0] != 0x09 {
				return nil, errAMF
			}
			return out, nil
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, amf0.ObjectEntry{Key: key, Value: v})
	}
}

func (r *amfReader) array(depth int) (any, error) {
	b, err := r.take(4)
	if err != nil {
		return nil, err
	}
	var out amf0.StrictArray
	for range binary.BigEndian.Uint32(b) {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// text reads a string after its length in 2 or 4 bytes.
func (r *amfReader) text(width int) (string, error) {
	b, err := r.take(width)
	if err != nil {
		return "", err
	}
	n := 0
	for _, x := range b {
		n = n<<8 | int(x)
	}
	b, err = r.take(n)
	return string(b), err
}

func (r *amfReader) take(n int) ([]byte, error) {
	if n > len(r.buf) {
		return nil, errAMF
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b, nil
}
