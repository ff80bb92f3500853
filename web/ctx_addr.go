package web

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
)

// addrTexts keeps IP addresses of clients as text. Most clients send several requests, so [Ctx.IP] formats few addresses.
//
// Each address has one place, so the table needs no lock, and clients with many addresses cannot make it grow. An address replaces another
// one at the same place only one time in eight. With many more clients than places, keeping texts would otherwise cost more than it saves.
// A full table takes about 300 KB.
type addrTexts [1 << addrBits]atomic.Pointer[addrText]

const addrBits = 12

// addrText is an address and its text. It does not change.
type addrText struct {
	addr netip.Addr
	text string
}

var clientTexts addrTexts

// of returns the address as text.
func (t *addrTexts) of(addr netip.Addr) string {
	place := &t[addrPlace(addr)]
	known := place.Load()
	if known != nil && known.addr == addr {
		return known.text
	}
	text := addr.String()
	if known == nil || rand.Uint32()%8 == 0 {
		place.Store(&addrText{addr, text})
	}
	return text
}

// addrPlace returns the place of an address. It spreads addresses that differ in any bits.
func addrPlace(addr netip.Addr) uint64 {
	var key uint64
	if addr.Is4() {
		b := addr.As4()
		key = uint64(binary.LittleEndian.Uint32(b[:]))
	} else {
		b := addr.As16()
		key = binary.LittleEndian.Uint64(b[8:]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(b[:8]), 32)
	}
	return key * 0x9e3779b97f4a7c15 >> (64 - addrBits)
}
