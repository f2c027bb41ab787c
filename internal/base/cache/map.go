// Package cache keeps values that were read from the database for a short time.
package cache

import (
	"sync"
	"time"
)

// Map holds the newest value of each key for a time. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	age     time.Duration
	most    int
	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	at    time.Time
}

// NewMap makes a map whose values are valid for age, of at most so many keys: a new key above that empties it first.
func NewMap[K comparable, V any](age time.Duration, most int) *Map[K, V] {
	return &Map[K, V]{age: age, most: most, entries: map[K]entry[V]{}}
}

// Get returns the value of a key; ok is false if there is none, or if its age at now is too high in either direction.
func (m *Map[K, V]) Get(key K, now time.Time) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, known := m.entries[key]
	if !known || now.Sub(e.at).Abs() >= m.age {
		return value, false
	}
	return e.value, true
}

// Put stores the value of a key as it was at now.
func (m *Map[K, V]) Put(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.entries[key]; !known && len(m.entries) >= m.most {
		clear(m.entries)
	}
	m.entries[key] = entry[V]{value, now}
}

// Delete removes the value of a key.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}

// Clear removes all values.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.entries)
}
