package secret

import "crypto/rand"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Base62 writes n characters of the alphabet that sum decides, one per byte of
// it: for check characters, not for anything that must be even to the last bit.
func Base62(sum []byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = base62[int(sum[i])%len(base62)]
	}
	return out
}

// Text makes n random base62 characters (5.95 bits each).
func Text(n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n)
	for len(out) < n {
		rand.Read(buf) // never fails
		for _, b := range buf {
			// 248 is the largest multiple of 62 below 256: without the cut the
			// first characters of the alphabet would come up more often.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}
