package http2

import (
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/message"
)

// Message receives a head or trailers, see [Conn.Next]. The caller provides Head, whose contents are
// overwritten, and perhaps memory in Buf.
//
// Head.Fields borrows Buf, and the spans below refer to Head.Fields. Names are in lower case. If a request has :authority, that is
// the first field, with the name Host. Cookie fields are joined. Trailers have only the fields that RFC 9110 §6.5.1 permits.
//
// Head.Target is not checked, unless Head.TargetChecked is set, and neither is Host. A CONNECT and its response have no body;
// Data events have the bytes of the tunnel.
type Message struct {
	Head *message.Head
	Buf  []byte // the bytes of the head; grown with bufpool

	Scheme   field.Span // of a request; empty for CONNECT
	Protocol field.Span // of an extended CONNECT (RFC 8441)
	Priority Priority   // of the Priority field, or the default

	prioritized bool // there is a valid Priority field
	work        int  // of this call of Next so far, see Event.Work; without frames
}

// blockKind is what a header block is.
type blockKind uint8

const (
	requestBlock blockKind = iota
	responseBlock
	trailerBlock
)

// hostName is stored at the start of each message's bytes, as the name of the Host field that is made from :authority.
const hostName = "host"

// decoding is a header block on its way to a Message.
type decoding struct {
	m     *Message
	kind  blockKind
	block hpack.Block

	pseudo  [hpack.Protocol + 1]field.Span
	seen    uint8 // bit p says that pseudo-field p was there
	regular bool  // a regular field was there
	hasHost bool
	host    field.Span
	cookies int
	wrong   *Error // why the message is malformed
}

// decoded is the outcome of a header block.
type decoded struct {
	malformed *Error
	excess    error // the limit that the block exceeds; the Message has only a part of the fields
	fatal     *Error
}

// listExcess is how many times a header list may exceed its limit before the connection fails. Until then, the decoder only
// counts the fields.
const listExcess = 4

// decode decodes a header block into m.
func decode(d *hpack.Decoder, in []byte, lim *hpack.Limits, m *Message, kind blockKind) (out decoded) {
	dec := decoding{m: m, kind: kind}
	b := &dec.block
	b.Out, b.MaxSize = append(m.Buf[:0], hostName...), listExcess*int64(lim.List)
	list := &m.Head.Fields
	m.Head.Reset()
	m.Head.Minor = message.HTTP2
	list.Borrow(b.Out)
	m.Scheme, m.Protocol, m.Priority, m.prioritized = field.Span{}, field.Span{}, defaultPriority, false
	d.Start(b, in, lim)
	for dec.wrong == nil && b.Next() {
		dec.field()
	}
	if dec.wrong != nil {
		_ = b.Discard()
	}
	m.Buf = b.Out
	list.Rebase(b.Out)
	m.work += fieldWork * b.Count()
	if out.fatal = fatalOf(b); out.fatal != nil {
		return out
	}
	if out.excess = b.Excess(); dec.wrong == nil {
		dec.finish(out.excess != nil)
	}
	out.malformed = dec.wrong
	return out
}

// discard decodes a header block for the sake of the table.
func discard(d *hpack.Decoder, in []byte, lim *hpack.Limits, m *Message) (fatal *Error) {
	b := hpack.Block{Out: m.Buf[:0], MaxSize: listExcess * int64(lim.List)}
	d.Start(&b, in, lim)
	_ = b.Discard()
	m.Buf = b.Out
	m.work += fieldWork * b.Count()
	return fatalOf(&b)
}

// fatalOf returns why the connection fails after a block, or nil.
func fatalOf(b *hpack.Block) *Error {
	switch b.Err() {
	case nil:
		return nil
	case hpack.ErrListFarTooLarge:
		return ErrListFarTooLarge
	}
	return ErrCompression
}

// field takes the field that the block decoded last.
func (d *decoding) field() {
	b := &d.block
	switch {
	case b.Form != 0:
		d.wrong = ErrValue
		if b.Form&hpack.BadName != 0 {
			d.wrong = ErrName
		}
	case b.Pseudo != hpack.Regular:
		d.takePseudo()
	default:
		d.regular = true
		if b.ID != field.Unknown && !d.note() || d.kind == trailerBlock && message.ForbiddenTrailer(b.ID, d.bytes(b.Name)) {
			return
		}
		d.m.Head.Fields.AppendSpan(b.ID, int(b.Name.Off), int(b.Name.Off+b.Name.Len), int(b.Value.Off), int(b.Value.Off+b.Value.Len))
	}
}

// pseudosOf says which pseudo-fields a kind of block may have.
var pseudosOf = [...]uint8{
	requestBlock:  1<<hpack.Method | 1<<hpack.Scheme | 1<<hpack.Authority | 1<<hpack.Path | 1<<hpack.Protocol,
	responseBlock: 1 << hpack.Status,
	trailerBlock:  0,
}

func (d *decoding) takePseudo() {
	p := d.block.Pseudo
	switch bit := uint8(1) << p; {
	case d.regular:
		d.wrong = ErrPseudoLate
	case p >= hpack.UnknownPseudo || pseudosOf[d.kind]&bit == 0:
		d.wrong = ErrPseudoUnknown
	case d.seen&bit != 0:
		d.wrong = ErrPseudoTwice
	default:
		d.seen |= bit
		d.pseudo[p] = d.block.Value
		if p == hpack.Authority { // pseudo-fields come first, so this is the first field
			d.m.Head.Fields.AppendSpan(field.Host, 0, len(hostName), int(d.block.Value.Off), int(d.block.Value.Off+d.block.Value.Len))
		}
	}
}

func (d *decoding) has(p hpack.Pseudo) bool { return d.seen>>p&1 != 0 }

func (d *decoding) bytes(s field.Span) []byte { return d.block.Out[s.Off : s.Off+s.Len] }

// note examines a field with a known name. It reports whether the field belongs in the list.
func (d *decoding) note() bool {
	id, value := d.block.ID, d.block.Value
	switch id {
	case field.Connection, field.ProxyConnection, field.KeepAlive, field.TransferEncoding, field.Upgrade:
		d.wrong = ErrConnectionField
		return false
	case field.TE:
		if string(d.bytes(value)) != "trailers" {
			d.wrong = ErrTE
		}
	case field.Host:
		return d.noteHost(value)
	case field.ContentLength:
		return d.noteLength(d.bytes(value))
	case field.Cookie:
		d.cookies++
	case field.Expect:
		d.m.Head.NoteExpect(d.bytes(value))
	case field.Priority:
		if p, ok := mergePriority(d.m.Priority, defaultPriority, d.bytes(value)); ok { // lines of the same field add up
			d.m.Priority, d.m.prioritized = p, true
		}
	}
	return true
}

// noteHost takes a Host field. It goes into the list only if there is no :authority.
func (d *decoding) noteHost(value field.Span) bool {
	if d.kind != requestBlock {
		return d.kind == responseBlock
	}
	if d.hasHost {
		d.wrong = ErrTwoHosts
		return false
	}
	d.hasHost, d.host = true, value
	return !d.has(hpack.Authority)
}

// noteLength takes a Content-Length.
func (d *decoding) noteLength(value []byte) bool {
	if d.kind == trailerBlock {
		return false
	}
	valid, single := d.m.Head.NoteLength(value)
	if !valid || !single {
		d.wrong = ErrContentLength
	}
	return single
}

// finish checks the message as a whole, and completes the Message. A message that exceeds a limit is not checked, because
// some of its fields are missing.
func (d *decoding) finish(excess bool) {
	h := d.m.Head
	switch {
	case d.kind == requestBlock:
		d.finishRequest(excess)
	case d.kind == responseBlock && !excess:
		d.finishResponse()
	}
	if d.wrong == nil && d.cookies > 1 {
		d.m.Buf = h.Fields.JoinBorrowedCookies(d.m.Buf)
	}
	h.Flags |= message.LongConnection
	h.Received = d.wrong == nil && !excess
}
