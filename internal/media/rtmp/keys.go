package rtmp

import (
	"container/list"
	"crypto/sha256"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"showfloor/internal/base/netaddr"
)

// keyID identifies a stream key that a client of one address (see netaddr.Network) sent. It
// has the hash of the key, so that no keys are kept in memory.
type keyID struct {
	ip   netip.Addr
	hash [sha256.Size]byte
}

func newKeyID(ip netip.Addr, key string) keyID {
	return keyID{netaddr.Network(ip), sha256.Sum256([]byte(key))}
}

// keyMemory stores stream keys for some time after their last use. It is not safe for
// concurrent use.
type keyMemory struct {
	// perIP bounds the keys of one address, and all the keys in total. A further key is not
	// stored when its address has perIP keys. Beyond all, the least recently used key is
	// removed.
	perIP, all int
	life       time.Duration

	keys  map[keyID]*list.Element
	order *list.List // of *rememberedKey, the least recently used first
	of    map[netip.Addr]int
}

type rememberedKey struct {
	id   keyID
	used time.Time
	// repeats limits the checks of a key that was refused; nil for an accepted one.
	repeats *rate.Limiter
}

func newKeyMemory(perIP, all int, life time.Duration) *keyMemory {
	return &keyMemory{
		perIP: perIP, all: all, life: life,
		keys: map[keyID]*list.Element{}, order: list.New(), of: map[netip.Addr]int{},
	}
}

// find returns a stored key, or nil.
func (m *keyMemory) find(id keyID, now time.Time) *rememberedKey {
	for e := m.order.Front(); e != nil && now.Sub(remembered(e).used) >= m.life; e = m.order.Front() {
		m.forget(remembered(e).id)
	}
	if e := m.keys[id]; e != nil {
		return remembered(e)
	}
	return nil
}

// use stores a key, or updates its last use. It returns nil if its address has too many.
func (m *keyMemory) use(id keyID, now time.Time) *rememberedKey {
	k := m.find(id, now)
	if k != nil {
		k.used = now
		m.order.MoveToBack(m.keys[id])
		return k
	}
	if m.of[id.ip] >= m.perIP {
		return nil
	}
	if m.order.Len() >= m.all {
		m.forget(remembered(m.order.Front()).id)
	}
	k = &rememberedKey{id: id, used: now}
	m.keys[id] = m.order.PushBack(k)
	m.of[id.ip]++
	return k
}

// recall stores a key whose last use is before that of all stored keys, unless there are too
// many already.
func (m *keyMemory) recall(id keyID, used time.Time) {
	if m.keys[id] != nil || m.of[id.ip] >= m.perIP || m.order.Len() >= m.all {
		return
	}
	m.keys[id] = m.order.PushFront(&rememberedKey{id: id, used: used})
	m.of[id.ip]++
}

func (m *keyMemory) forget(id keyID) {
	e := m.keys[id]
	if e == nil {
		return
	}
	m.order.Remove(e)
	delete(m.keys, id)
	if m.of[id.ip]--; m.of[id.ip] == 0 {
		delete(m.of, id.ip)
	}
}

func remembered(e *list.Element) *rememberedKey {
	k, _ := e.Value.(*rememberedKey) // the list holds nothing else
	return k
}
