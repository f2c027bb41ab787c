package secret

import "crypto/rand"

// Digits makes n random decimal digits.
func Digits(n int) string { return pick(n, "0123456789") }

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Base62 writes n characters of the alphabet, one for each byte of sum. It is for check
// characters: the distribution is slightly uneven.
func Base62(sum []byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = base62[int(sum[i])%len(base62)]
	}
	return out
}

// Text makes n random base62 characters (5.95 bits each).
func Text(n int) string { return pick(n, base62) }

func pick(n int, alphabet string) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n)
	// The largest multiple of the alphabet's length: without this limit the first characters
	// of the alphabet would be more frequent.
	fair := 256 - 256%len(alphabet)
	for len(out) < n {
		rand.Read(buf) // never fails
		for _, b := range buf {
			if int(b) < fair && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}
