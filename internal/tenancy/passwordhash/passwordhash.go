// Package passwordhash hashes passwords with argon2id, in a process of its own with a low priority. A hash takes a
// core for about 35 ms and 19 MiB of memory, on purpose. In the server's process it would delay other requests: by the
// core that it takes from them and by the garbage collections that its memory causes.
package passwordhash

import (
	"fmt"

	"github.com/alexedwards/argon2id"
)

// StandardMemory is the memory of one hash in KiB. 19 MiB with two passes and one lane are OWASP's parameters for argon2id.
const StandardMemory = 19 * 1024

// job is one hash to compute: a new one, with memory KiB, or if hash is set, the comparison of a password with it.
type job struct {
	Password string `json:"password"`
	Memory   uint32 `json:"memory,omitempty"`
	Hash     string `json:"hash,omitempty"`
}

// result is the result of a job: the new hash, or whether the password matches.
type result struct {
	Hash    string `json:"hash,omitempty"`
	Matches bool   `json:"matches,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (j job) compute() result {
	var r result
	var err error
	if j.Hash == "" {
		r.Hash, err = argon2id.CreateHash(j.Password, &argon2id.Params{
			Memory: j.Memory, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32,
		})
	} else {
		r.Matches, err = compare(j.Password, j.Hash)
	}
	if err != nil {
		r.Error = fmt.Sprintf("argon2id: %v", err)
	}
	return r
}

// maxMemory is the highest memory parameter of a stored hash, in KiB (1 GiB). With more, the allocation could end the process.
const maxMemory = 1 << 20

// compare returns an error for a damaged hash, with which argon2id would panic or need too much memory.
func compare(password, hash string) (bool, error) {
	params, _, key, err := argon2id.DecodeHash(hash)
	if err != nil {
		return false, err
	}
	if params.Iterations < 1 || params.Parallelism < 1 || params.Memory > maxMemory || len(key) == 0 {
		return false, argon2id.ErrInvalidHash
	}
	return argon2id.ComparePasswordAndHash(password, hash)
}
