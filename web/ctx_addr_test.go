package web

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
)

// Several goroutines ask for the texts of addresses that share places in the table. Each gets the text of its address.
func TestAddressTexts(t *testing.T) {
	table := new(addrTexts)
	var group sync.WaitGroup
	for seed := range uint64(4) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			var addrs []netip.Addr
			for range 3 << addrBits {
				var b [16]byte
				binary.LittleEndian.PutUint64(b[:], random.Uint64())
				binary.LittleEndian.PutUint64(b[8:], random.Uint64())
				addrs = append(addrs, netip.AddrFrom16(b), netip.AddrFrom4([4]byte(b[:4])), netip.AddrFrom16(b).WithZone("eth0"))
			}
			for range 2 {
				for _, addr := range addrs {
					if got := table.of(addr); got != addr.String() {
						t.Errorf("%q, want %q", got, addr)
					}
				}
			}
		})
	}
	group.Wait()
}

// Addresses of one network have different places as often as chance allows.
func TestAddressPlaces(t *testing.T) {
	const n = 1 << addrBits
	for name, addr := range map[string]func(i int) netip.Addr{
		"last bytes of IPv4":  func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}) },
		"first bytes of IPv4": func(i int) netip.Addr { return netip.AddrFrom4([4]byte{byte(i), byte(i >> 8), 2, 1}) },
		"networks of IPv6": func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 6: byte(i >> 8), 7: byte(i), 15: 1})
		},
		"hosts of IPv6": func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(i >> 8), 15: byte(i)})
		},
	} {
		used := map[uint64]bool{}
		for i := range n {
			used[addrPlace(addr(i))] = true
		}
		if len(used) < n/2 { // random places would be 63 %
			t.Errorf("%s: %d addresses use %d places", name, n, len(used))
		}
	}
}

func TestKnownAddressTextsDoNotAllocate(t *testing.T) {
	table, addr := new(addrTexts), netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { table.of(addr) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Clients take turns. If there are many more than places, each address is formatted again.
func BenchmarkAddressText(b *testing.B) {
	for _, clients := range []int{1, 1000, 10000, 100000} {
		addrs := make([]netip.Addr, clients)
		for i := range addrs {
			addrs[i] = netip.AddrFrom4([4]byte{10, byte(rand.Uint32()), byte(rand.Uint32()), byte(rand.Uint32())})
		}
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			table, i := new(addrTexts), 0
			b.ReportAllocs()
			for b.Loop() {
				table.of(addrs[i])
				if i++; i == clients {
					i = 0
				}
			}
		})
		b.Run(fmt.Sprint("clients=", clients, "/formatted"), func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				text = addrs[i].String()
				if i++; i == clients {
					i = 0
				}
			}
		})
	}
}

var text string // keeps a result on the heap, as in a log
