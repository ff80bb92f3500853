package gallop

import "github.com/gallop-http/gallop/internal/field"

// Set and its variants belong to RequestHeader and ResponseHeader, which differ in what they do with
// cookies. Tests of what the two share call these.

func (h *header) Set(key, value string) { h.SetBytesKV(UnsafeBytes(key), UnsafeBytes(value)) }

func (h *header) SetBytesK(key []byte, value string) { h.SetBytesKV(key, UnsafeBytes(value)) }

func (h *header) SetBytesV(key string, value []byte) { h.SetBytesKV(UnsafeBytes(key), value) }

func (h *header) SetBytesKV(key, value []byte) { h.put(field.Lookup(key), key, value, false) }

func (h *header) SetCanonical(key, value []byte) {
	normalizes := h.DisableNormalizing()
	h.SetBytesKV(key, value)
	h.changeFlag(namesAsGiven, !normalizes)
}
