package bench

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/srtp/v3"
	"github.com/stretchr/testify/require"
)

const (
	// forwardSubscribers is the number of subscribers to one publisher.
	forwardSubscribers = 100
	forwardRate        = 2_500_000
	forwardWindow      = 8 * time.Second
)

// BenchmarkForwarding makes the server forward one camera of 720p at 2.5 Mbit/s to
// 100 and to 300 subscribers in another process. It counts the packets that arrive there per
// second of the server's CPU time, with all other work that belongs to forwarding:
// reports, bandwidth estimates, repair. The baseline is a bare loop that encrypts
// the same packets and sends them to the same sockets.
func BenchmarkForwarding(b *testing.B) {
	for _, n := range []int{forwardSubscribers, 3 * forwardSubscribers} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { forwarding(b, n) })
	}
}

func forwarding(b *testing.B, subscribers int) {
	b.Helper()
	for b.Loop() {
		server, url := startSFU(b)
		idle := selfRSS(b)
		c := startCrowd(b, crowdPlan{URL: url, Room: "room", Talkers: 1, Viewers: subscribers, Layers: []int{forwardRate}, Light: true})
		<-time.After(2 * time.Second)
		before := server.Stats()
		count, cpu := c.watch(b, forwardWindow)
		after := server.Stats()
		memory := (selfRSS(b) - idle) / float64(subscribers)
		require.Len(b, count.Addrs, subscribers)
		ours := float64(count.Packets) / cpu.Seconds() / 1000
		bare := bareLoop(b, count.Addrs)
		c.stop()

		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ours, "kpackets/core-s")
		b.ReportMetric(bare, "bare-kpackets/core-s")
		b.ReportMetric(ours/bare, "ratio")
		b.ReportMetric(float64(count.Packets)/forwardWindow.Seconds()/1000, "kpackets/s")
		b.ReportMetric(float64(count.Lost), "lost")
		b.ReportMetric(float64(after.PacketsOut-before.PacketsOut)/float64(after.SendCalls-before.SendCalls), "packets/call")
		b.ReportMetric(count.P99, "p99-ms")
		b.ReportMetric(memory, "MiB/subscriber")
	}
}

// BenchmarkConference has ten participants who receive each other, each with a
// camera of three layers and a microphone. Late is the delay of packets from one
// client to another through the server. The baseline is two clients of the same
// process that send to each other directly at the same time.
func BenchmarkConference(b *testing.B) {
	const people = 10
	for b.Loop() {
		server, url := startSFU(b)
		c := startCrowd(b, crowdPlan{
			URL: url, Room: "room", Talkers: people, Layers: []int{150_000, 500_000, 1_700_000}, Sound: true, Direct: true,
		})
		<-time.After(8 * time.Second) // the time in which the bandwidth estimates reach the large layer
		before := server.Stats()
		count, cpu := c.watch(b, forwardWindow)
		after := server.Stats()
		c.stop()

		b.ReportMetric(0, "ns/op")
		b.ReportMetric(100*cpu.Seconds()/forwardWindow.Seconds(), "core%")
		b.ReportMetric(float64(count.Packets)/cpu.Seconds()/1000, "kpackets/core-s")
		b.ReportMetric(float64(count.Bytes)*8/forwardWindow.Seconds()/1e6, "Mbit/s")
		b.ReportMetric(float64(after.Dropped-before.Dropped+after.PacketsLost-before.PacketsLost), "server-lost")
		b.ReportMetric(float64(count.Lost), "lost")
		b.ReportMetric(count.P50, "p50-ms")
		b.ReportMetric(count.P99, "p99-ms")
		b.ReportMetric(count.DirectP50, "direct-p50-ms")
		b.ReportMetric(count.DirectP99, "direct-p99-ms")
		b.ReportMetric(count.P99-count.DirectP99, "added-p99-ms")
	}
}

// BenchmarkChurn has 1 000 clients join a room, receive media and leave, ten at a
// time, and prints the memory and goroutines that remain. The baseline is the
// server with the room before they joined.
func BenchmarkChurn(b *testing.B) {
	const times = 1000
	for b.Loop() {
		_, url := startSFU(b)
		c := startCrowd(b, crowdPlan{URL: url, Room: "room", Talkers: 1, Viewers: 1, Layers: []int{300_000}})
		c.ask(b, "churn 50") // so that pools and tables have their final size
		goroutines, memory := settled(b), heldHeap()
		before, began := selfCPU(b), time.Now()
		c.ask(b, fmt.Sprint("churn ", times))
		took, cpu := time.Since(began), selfCPU(b)-before
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(goroutines), "goroutines-before")
		b.ReportMetric(float64(settled(b)-goroutines), "goroutines-left")
		b.ReportMetric((heldHeap()-memory)/times, "heap-KiB-left/join")
		b.ReportMetric(times/took.Seconds(), "joins/s")
		b.ReportMetric(float64(cpu.Microseconds())/1000/times, "core-ms/join")
		c.stop()
	}
}

// heldHeap returns the heap in use, without garbage, in KiB.
func heldHeap() float64 {
	runtime.GC()
	runtime.GC() // pools keep their objects for one more collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1024
}

// settled returns the number of goroutines once it hasn't decreased for a second.
func settled(b *testing.B) int {
	b.Helper()
	n, since := runtime.NumGoroutine(), time.Now()
	for time.Since(since) < time.Second {
		<-time.After(50 * time.Millisecond)
		if now := runtime.NumGoroutine(); now < n {
			n, since = now, time.Now()
		}
	}
	return n
}

// bareLoop encrypts packets for each address and sends them as fast as possible. It
// returns the thousands of packets per second of CPU time.
func bareLoop(b *testing.B, addrs []string) float64 {
	b.Helper()
	type peer struct {
		to   netip.AddrPort
		srtp *srtp.Context
	}
	peers := make([]peer, len(addrs))
	for i, addr := range addrs {
		key := make([]byte, 28)
		_, _ = rand.Read(key)
		context, err := srtp.CreateContext(key[:16], key[16:], srtp.ProtectionProfileAeadAes128Gcm)
		require.NoError(b, err)
		peers[i] = peer{netip.MustParseAddrPort(addr), context}
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(b, err)
	defer socket.Close()
	p := rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 96, SSRC: 1}, Payload: make([]byte, 1100)}
	require.NoError(b, p.SetExtension(3, []byte{1, 2}))
	out := make([]byte, 0, 1500)
	sent := 0
	before := selfCPU(b)
	for end := time.Now().Add(forwardWindow / 2); time.Now().Before(end); {
		p.SequenceNumber++
		plain, err := p.Marshal()
		require.NoError(b, err)
		for i := range peers {
			encrypted, err := peers[i].srtp.EncryptRTP(out, plain, nil)
			require.NoError(b, err)
			_, err = socket.WriteToUDPAddrPort(encrypted, peers[i].to)
			require.NoError(b, err)
			sent++
		}
	}
	return float64(sent) / (selfCPU(b) - before).Seconds() / 1000
}
