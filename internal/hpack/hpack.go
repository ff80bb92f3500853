// Package hpack implements HPACK, the header compression of HTTP/2 (RFC 7541), over bytes. A [Decoder] and its [Block]
// turn field blocks into fields. An [Encoder] appends fields to a field block.
//
// The package does no I/O, starts no goroutine and reads no clock: bytes in, values out. It keeps no byte of its
// callers, because the dynamic tables copy what they store.
//
// The decoder is in decoder.go (its state), block.go (a block) and block_literal.go (literal fields). The encoder is in
// encoder.go (its state), encode.go (fields) and policy.go (which fields it stores). Both use the tables in table.go and
// static.go, the integers in integer.go and the Huffman code in huffman*.go. form.go checks the characters of fields, and
// errors.go lists the errors.
package hpack

import "github.com/gallop-http/gallop/internal/field"

const (
	// DefaultTableSize is the size of both dynamic tables until a setting changes it (RFC 9113 §6.5.2).
	DefaultTableSize = 4096

	// MaxTableSize is the largest size of a dynamic table here. Larger settings of a peer are clipped.
	MaxTableSize = 64 << 10

	// FieldOverhead is what a field costs besides its name and its value, in tables (RFC 7541 §4.1) and in the size of
	// a list (RFC 9113 §10.5.1).
	FieldOverhead = 32
)

// Pseudo identifies a pseudo-field: a field whose name begins with a colon (RFC 9113 §8.3).
type Pseudo uint8

// The pseudo-fields of RFC 9113 §8.3 and RFC 8441 §4. Regular means that a field is no pseudo-field.
const (
	Regular Pseudo = iota
	Authority
	Method
	Path
	Scheme
	Status
	Protocol
	UnknownPseudo // any other name that begins with a colon
)

var pseudoNames = [...]string{
	Authority: ":authority", Method: ":method", Path: ":path", Scheme: ":scheme", Status: ":status", Protocol: ":protocol",
	UnknownPseudo: "",
}

// String returns the name with its colon, or "" for Regular and UnknownPseudo.
func (p Pseudo) String() string { return pseudoNames[p] }

// pseudoOf returns the pseudo-field with this name, or Regular.
func pseudoOf(name []byte) Pseudo {
	if len(name) == 0 || name[0] != ':' {
		return Regular
	}
	for p := Authority; p < UnknownPseudo; p++ {
		if string(name) == pseudoNames[p] {
			return p
		}
	}
	return UnknownPseudo
}

// Field is a decoded field. Its spans are ranges of [Block.Out].
type Field struct {
	Name   field.Span // empty if the field is a pseudo-field
	Value  field.Span
	ID     field.ID // of a regular field with a known name
	Pseudo Pseudo
	Form   Form // what is wrong with the characters of the field

	// Sensitive means that the peer forbids storing the field in any table. A program that forwards the field must
	// encode it with [AppendSensitive] (RFC 7541 §7.1.3).
	Sensitive bool
}
