package middleware

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Idempotency lets clients repeat a request safely, for example a payment whose response was lost. The client sends a random
// Idempotency-Key with the request, and the same key with each retry (draft-ietf-httpapi-idempotency-key-header-07). The handler runs
// once. Retries get the stored response, with the header Idempotency-Replayed: true.
//
// Responses to requests with a key:
//
//   - 400 if the key is malformed, or if Required is set and the request has no key.
//   - 409 if the first request with this key is still running. The header Retry-After says when to try again.
//   - 409 if the handler has finished but its response was not kept. Streams, responses larger than MaxBody and responses for which the
//     Store has no room are not kept.
//   - 422 if the key was used for another request, that is, with another method, URL, Content-Type or body. If the server streams
//     request bodies, Idempotency compares the Content-Length instead of the body.
//   - 503 if the Store fails. The handler does not run, because it may have run before.
//
// A response is stored if the handler returns nil and the status is below 500. After an error, the next request with the same key runs
// the handler again. If a handler changes something and then fails, it must undo the change.
//
// If the process dies while the handler runs, retries get 409 until Lease has passed. The next retry then runs the handler again.
//
// If the Store hangs after the handler has returned, the response waits for 5 seconds at most. Idempotency then logs that the response was
// not stored.
//
// Register Idempotency after the middleware that authenticates the client, so that only the same client can get a stored response.
//
// The zero value keeps responses for 24 hours in the memory of the process.
type Idempotency struct {
	// Store keeps the responses. It must be an [Adder] and a [Swapper]. If several processes serve the same clients, they must share a
	// Store. By default, each call of Handler creates a MemoryStore.
	Store Store

	// Name distinguishes this Idempotency from other users of the same Store. Name is required if Store is set. It may contain ASCII
	// letters, digits and the characters "-_./".
	Name string

	// Scope returns the client, such as a user ID. Clients with different scopes never share a response, even if their keys are equal.
	// The default is the Authorization header of the request. Set Scope if your clients use cookies.
	Scope func(c *web.Ctx) string

	// Required makes Idempotency respond with 400 to requests without a key. By default, such requests run as usual.
	Required bool

	// Methods are the methods that Idempotency applies to. The default is POST and PATCH. Other methods are idempotent or safe.
	Methods []string

	// Header is the name of the header that carries the key. The default is Idempotency-Key.
	Header string

	// TTL is how long a response is kept. Zero or less means 24 hours.
	TTL time.Duration

	// Lease is how long a running handler holds its key. Idempotency extends the lease while the handler runs, so the Lease only matters
	// if the process dies. Zero or less means one minute.
	Lease time.Duration

	// MaxBody is the size in bytes of the largest response body that is kept. Zero means 1 MiB. With a negative value, only responses
	// without a body are kept.
	MaxBody int
}

// maxIdempotencyKey is how long a key may be, in bytes.
const maxIdempotencyKey = 255

// Errors of Idempotency. They are causes of a [web.Error].
var (
	errKeyMissing   = errors.New("middleware: the request has no idempotency key")
	errKeyMalformed = errors.New("middleware: the idempotency key is malformed: send one key of 1 to 255 visible ASCII characters, in quotes or without")
	errKeyRunning   = errors.New("middleware: the first request with this idempotency key is still running")
	errKeyReused    = errors.New("middleware: the idempotency key was used for another request")
	errNotKept      = errors.New("middleware: the request with this idempotency key has finished, but its response was not kept")
)

// Handler returns the middleware. Handler panics if the settings contradict each other.
func (o Idempotency) Handler() web.Handler {
	d := o.build()
	return func(c *web.Ctx) error {
		if c.Refused() != nil || !slices.Contains(d.Methods, c.Method()) {
			return c.Next()
		}
		key, err := d.key(c)
		switch {
		case err != nil:
			return err
		case key == nil && d.Required:
			return refusal(gallop.StatusBadRequest, "The header "+d.Header+" is required.", errKeyMissing)
		case key == nil:
			return c.Next()
		}
		return d.serve(c, key)
	}
}

// idempotency is an Idempotency whose settings are complete.
type idempotency struct {
	Idempotency
	adder   Adder
	swapper Swapper
	memory  *MemoryStore // the Store, or nil if it is another one
	process string       // random
	claims  atomic.Uint64
}

// appendClaim appends the record of a request that runs. No two claims are equal, in this process or another one.
func (d *idempotency) appendClaim(b []byte, print [sha256.Size]byte) []byte {
	var room [64]byte
	owner := strconv.AppendUint(append(room[:0], d.process...), d.claims.Add(1), 10)
	return idempotencyRecord{state: stateRunning, print: print, owner: owner}.appendTo(b)
}

func (o Idempotency) build() *idempotency {
	d := &idempotency{Idempotency: o, process: rand.Text() + "-"}
	if d.Store == nil {
		d.Store = new(MemoryStore)
	} else if d.Name == "" || !isPlainName(d.Name) {
		panic(fmt.Sprintf("middleware: Idempotency with a Store needs a Name of ASCII letters, digits and \"-_./\", not %q", d.Name))
	}
	d.adder, d.swapper = need[Adder]("Idempotency", d.Store), need[Swapper]("Idempotency", d.Store)
	d.memory, _ = d.Store.(*MemoryStore)
	if d.Methods = slices.Clone(d.Methods); len(d.Methods) == 0 {
		d.Methods = []string{gallop.MethodPost, gallop.MethodPatch}
	}
	if d.Header == "" {
		d.Header = "Idempotency-Key"
	}
	if d.TTL <= 0 {
		d.TTL = 24 * time.Hour
	}
	if d.Lease <= 0 {
		d.Lease = time.Minute
	}
	if d.MaxBody == 0 {
		d.MaxBody = 1 << 20
	}
	return d
}

// refusal returns an error with a message for the client.
func refusal(status int, message string, cause error) error {
	return &web.Error{Status: status, Message: message, Err: cause}
}

// idempotencyRoom is memory for the key and the records of one request. It is pooled.
type idempotencyRoom struct{ parts, key, claim, existing []byte }

var idempotencyRooms = sync.Pool{New: func() any { return new(idempotencyRoom) }}

// maxIdempotencyRoom is how much memory of one kind a pooled idempotencyRoom may have, in bytes.
const maxIdempotencyRoom = 64 << 10

// release gives room back to the pool.
func (room *idempotencyRoom) release() {
	if max(cap(room.parts), cap(room.existing)) <= maxIdempotencyRoom {
		idempotencyRooms.Put(room)
	}
}

// serve runs the handlers, or replays their response.
func (d *idempotency) serve(c *web.Ctx, key []byte) error {
	room := idempotencyRooms.Get().(*idempotencyRoom)
	room.key = d.appendKey(room.key[:0], c, room, key)
	print := room.fingerprint(c)
	room.claim = d.appendClaim(room.claim[:0], print)
	existing, added, err := d.add(c, room)
	if err != nil { // a Store that was canceled may still use the room
		return refusal(gallop.StatusServiceUnavailable, gallop.StatusMessage(gallop.StatusServiceUnavailable), err)
	}
	if added {
		key, claim := string(room.key), bytes.Clone(room.claim)
		room.release()
		return d.run(c, key, claim, print)
	}
	err = d.repeat(c, existing, print)
	room.release()
	return err
}

// add claims the key. If the key is known, add returns the existing record.
func (d *idempotency) add(c *web.Ctx, room *idempotencyRoom) (existing []byte, added bool, err error) {
	if d.memory == nil {
		return d.adder.Add(c, string(room.key), room.claim, d.Lease)
	}
	existing, added, err = d.memory.addKnown(c, room.key, room.claim, d.Lease, room.existing[:0])
	if existing != nil {
		room.existing = existing
	}
	return existing, added, err
}

// repeat responds to a request whose key is known.
func (d *idempotency) repeat(c *web.Ctx, existing []byte, print [sha256.Size]byte) error {
	record, err := decodeIdempotency(existing)
	switch {
	case err != nil:
		return err
	case record.print != print:
		return refusal(gallop.StatusUnprocessableEntity, "The "+d.Header+" was used for another request.", errKeyReused)
	case record.state == stateRunning:
		c.SetHeader(gallop.HeaderRetryAfter, "1")
		return refusal(gallop.StatusConflict, "The first request with this "+d.Header+" is still running.", errKeyRunning)
	case record.state == stateNotKept:
		return refusal(gallop.StatusConflict, "The request with this "+d.Header+" has finished, but its response was not kept.", errNotKept)
	}
	record.replay(c)
	return nil
}

// run runs the handlers and stores their response. After an error or a panic, it gives the key back.
func (d *idempotency) run(c *web.Ctx, key string, claim []byte, print [sha256.Size]byte) error {
	l := d.extend(key, claim)
	kept := false
	defer func() {
		l.end()
		if !kept {
			d.after(c, "release", func(ctx context.Context) (bool, error) { return d.swapper.CompareAndDelete(ctx, key, claim) })
		}
	}()
	before := headerLines(c)
	if err := c.Next(); err != nil || c.RequestCtx().Response.StatusCode() >= gallop.StatusInternalServerError {
		return err
	}
	kept = true
	result := d.record(c, before)
	result.print = print
	l.end()
	d.after(c, "store", func(ctx context.Context) (bool, error) {
		ok, err := d.swapper.CompareAndSwap(ctx, key, claim, result.appendTo(nil), d.TTL)
		if errors.Is(err, ErrValueTooLarge) { // the claim would expire, and a retry would run the handlers again
			result = idempotencyRecord{state: stateNotKept, print: print}
			ok, err = d.swapper.CompareAndSwap(ctx, key, claim, result.appendTo(nil), d.TTL)
		}
		return ok, err
	})
	return nil
}

// idempotencyPatience is how long a response waits for the Store.
const idempotencyPatience = 5 * time.Second

// after calls a step of the Store after the handlers have run, and logs if the step fails. The response does not depend on the step.
func (d *idempotency) after(c *web.Ctx, what string, step func(ctx context.Context) (ok bool, err error)) {
	ctx := context.WithoutCancel(c.Context()) // a client that is gone will try again
	if d.memory == nil {                      // which does not wait
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, idempotencyPatience)
		defer cancel()
	}
	if ok, err := step(ctx); err != nil || !ok {
		c.Log().Error("idempotency: cannot "+what+" a key", "name", d.Name, "error", err)
	}
}

// lease extends the lease of a key while its handler runs.
type lease struct {
	cancel context.CancelFunc

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

// extend begins to extend the lease of a key.
func (d *idempotency) extend(key string, claim []byte) *lease {
	ctx, cancel := context.WithCancel(context.Background()) // not that of the request, which the call may outlive
	l := &lease{cancel: cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(d.Lease/3, func() {
		if ctx.Err() != nil {
			return
		}
		d.swapper.CompareAndSwap(ctx, key, claim, claim, d.Lease) // the next call may succeed if this one fails
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.ended {
			l.timer.Reset(d.Lease / 3)
		}
	})
	return l
}

// end stops extending. It does not wait for an extension that has begun. That extension changes nothing once the claim was replaced or
// deleted, because no other claim is equal.
func (l *lease) end() {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.timer.Stop()
}
