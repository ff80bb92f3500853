package gallop

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultLBClientTimeout is the default of LBClient.Timeout.
const DefaultLBClientTimeout = time.Second

// BalancingClient is a client to which an LBClient sends a share of its requests, such as a HostClient or a
// PipelineClient. If the client also implements [Doer], LBClient.DoContext calls the client's DoContext method.
type BalancingClient interface {
	// DoDeadline sends req, reads the response into resp, and fails if the response has not arrived by the deadline.
	// The zero time means no deadline.
	DoDeadline(req *Request, resp *Response, deadline time.Time) error
	// PendingRequests returns the number of calls in flight. The LBClient calls PendingRequests on every client for
	// each request, so the method should be fast.
	PendingRequests() int
}

// LBStrategy is the rule by which an LBClient chooses a client.
type LBStrategy int

const (
	// LBLeastLoaded chooses the client with the fewest calls in flight relative to its weight. If several clients have the
	// same load, LBLeastLoaded uses the clients in turn.
	LBLeastLoaded LBStrategy = iota

	// LBRoundRobin uses the clients in turn. A client of weight 2 gets twice as many requests as a client of weight 1.
	LBRoundRobin
)

// LBClient spreads requests over several clients, and sends fewer requests to clients that fail. An LBClient never
// sends a request twice.
//
// A client gets a penalty for each request that fails or panics. With LBLeastLoaded, the penalty counts as additional
// calls in flight. The penalty is 4 after the first failure, and at most 256. With LBRoundRobin, the client's share of
// requests is divided by the penalty plus one. The penalty halves every second, and is zero after at most ten seconds
// without a failure. If all clients fail equally often, every client still gets requests.
//
// The zero value has no clients. All methods may be called concurrently. Do not change fields after the first
// call, and do not copy an LBClient.
type LBClient struct {
	_ noCopy

	// Clients is the initial set of clients. AddClient and RemoveClients change the set later.
	Clients []BalancingClient

	// HealthCheck is called after each request and reports whether the request succeeded. If HealthCheck is nil, every
	// request without an error counts as successful. In HealthCheck, req.Context() returns the call's context.
	//
	// If the caller of DoContext has cancelled the request, HealthCheck is not called.
	HealthCheck func(req *Request, resp *Response, err error) bool

	// Timeout limits every call to Do. In DoContext, Timeout applies only to clients that have no DoContext method. If the
	// context has a deadline, the deadline replaces Timeout. Zero or a negative value means DefaultLBClientTimeout.
	Timeout time.Duration

	// Strategy is the rule by which a client is chosen. The default is LBLeastLoaded.
	Strategy LBStrategy

	// Weight returns the weight of a client. A client of weight 2 gets twice as many requests as a client of weight 1.
	// Weight is called once for each client. If Weight is nil or returns less than 1, the client's weight is 1.
	Weight func(c BalancingClient) int

	change  sync.Mutex // held to replace members
	members atomic.Pointer[[]*lbMember]
	turn    sync.Mutex // held to choose one
}

// Do chooses a client and sends req through it. A call that takes longer than Timeout fails.
func (lb *LBClient) Do(req *Request, resp *Response) error {
	return lb.DoTimeout(req, resp, lb.timeout())
}

// DoTimeout chooses a client and sends req through it. A call that takes longer than timeout fails. See
// [LBClient.DoDeadline].
func (lb *LBClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return lb.DoDeadline(req, resp, time.Now().Add(timeout))
}

// DoDeadline chooses a client and sends req through it. A call that has not ended by the deadline fails. The zero time
// means no deadline. If there are no clients, the error is ErrNoAvailableClients. If the deadline has already passed,
// the error is ErrTimeout and no client is called.
func (lb *LBClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	if len(lb.all()) > 0 && !deadline.IsZero() && !time.Now().Before(deadline) {
		return ErrTimeout
	}
	m := lb.choose()
	if m == nil {
		return ErrNoAvailableClients
	}
	returned := false
	defer m.end(&returned)
	err := m.client.DoDeadline(req, resp, deadline)
	lb.note(context.Background(), m, req, resp, err)
	returned = true
	return err
}

// DoContext chooses a client and sends req through it. When ctx is done, the call is cancelled. If the chosen client
// has no DoContext method, its DoDeadline method gets the deadline of ctx. If ctx has no deadline, Timeout limits the
// call to DoDeadline. If there are no clients, the error is ErrNoAvailableClients.
func (lb *LBClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	if ctx.Err() != nil {
		return describe(req, "http", inPhase(endedBy(ctx), phaseConn, ""))
	}
	m := lb.choose()
	if m == nil {
		return ErrNoAvailableClients
	}
	returned := false
	defer m.end(&returned)
	var err error
	if c, ok := m.client.(Doer); ok {
		err = c.DoContext(ctx, req, resp)
	} else {
		deadline, ok := ctx.Deadline()
		if !ok {
			deadline = time.Now().Add(lb.timeout())
		}
		err = m.client.DoDeadline(req, resp, deadline)
	}
	if !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		lb.note(ctx, m, req, resp, err)
	}
	returned = true
	return err
}

// PendingRequests returns the number of calls in flight through lb. Because of the method PendingRequests, an LBClient
// can be a client of another LBClient.
func (lb *LBClient) PendingRequests() int {
	n := 0
	for _, m := range lb.all() {
		n += int(m.running.Load())
	}
	return n
}

// AddClient adds a client and returns the new number of clients.
func (lb *LBClient) AddClient(c BalancingClient) int {
	lb.all()
	lb.change.Lock()
	defer lb.change.Unlock()
	more := append(slices.Clip(*lb.members.Load()), lb.newMember(c))
	lb.members.Store(&more)
	return len(more)
}

// RemoveClients removes the clients for which rc returns true, and returns the number of clients left. Calls in flight
// on removed clients continue. The function rc must not call lb.AddClient or lb.RemoveClients.
func (lb *LBClient) RemoveClients(rc func(BalancingClient) bool) int {
	lb.all()
	lb.change.Lock()
	defer lb.change.Unlock()
	left := slices.DeleteFunc(slices.Clone(*lb.members.Load()), func(m *lbMember) bool { return rc(m.client) })
	lb.members.Store(&left)
	return len(left)
}

func (lb *LBClient) timeout() time.Duration {
	if lb.Timeout > 0 {
		return lb.Timeout
	}
	return DefaultLBClientTimeout
}

// all returns the members. The first call makes them from Clients. The returned slice never changes.
func (lb *LBClient) all() []*lbMember {
	if members := lb.members.Load(); members != nil {
		return *members
	}
	return lb.begin()
}

// begin makes members of Clients, unless another goroutine has. If Weight panics, the next call tries again.
func (lb *LBClient) begin() []*lbMember {
	lb.change.Lock()
	defer lb.change.Unlock()
	if members := lb.members.Load(); members != nil {
		return *members
	}
	members := make([]*lbMember, 0, len(lb.Clients))
	for _, c := range lb.Clients {
		members = append(members, lb.newMember(c))
	}
	lb.members.Store(&members)
	return members
}

func (lb *LBClient) newMember(c BalancingClient) *lbMember {
	m := &lbMember{client: c, weight: 1}
	if lb.Weight != nil {
		m.weight = float64(max(1, lb.Weight(c)))
	}
	return m
}

// note keeps in mind how a request went.
func (lb *LBClient) note(ctx context.Context, m *lbMember, req *Request, resp *Response, err error) {
	healthy := err == nil
	if lb.HealthCheck != nil {
		healthy = lb.isHealthy(ctx, req, resp, err)
	}
	if !healthy {
		m.failed(time.Now())
	}
}

// isHealthy calls HealthCheck, to which req shows ctx.
func (lb *LBClient) isHealthy(ctx context.Context, req *Request, resp *Response, err error) bool {
	if req != nil {
		outer := req.ctx
		defer func() { req.ctx = outer }()
		req.ctx = ctx
	}
	return lb.HealthCheck(req, resp, err)
}

// A client that fails gets a penalty. Each failure doubles the penalty and adds lbPenalty, up to maxLBPenalty. The
// penalty is halved every lbHalfLife. A penalty below minLBPenalty is dropped.
const (
	lbPenalty    = 4
	maxLBPenalty = 256
	minLBPenalty = 0.25
	lbHalfLife   = time.Second
)

// lbMember is a client of an LBClient.
type lbMember struct {
	client   BalancingClient
	weight   float64 // ≥ 1
	running  atomic.Int64
	failures atomic.Pointer[lbFailures] // nil for none

	load, share, credit float64 // guarded by LBClient.turn
}

// lbFailures is the penalty that a member had at some time.
type lbFailures struct {
	penalty float64
	at      time.Time
}

// failed raises the penalty of the member.
func (m *lbMember) failed(now time.Time) {
	for {
		old := m.failures.Load()
		penalty := 0.0
		if old != nil {
			penalty = old.left(now)
		}
		failures := &lbFailures{min(2*penalty+lbPenalty, maxLBPenalty), now}
		if m.failures.CompareAndSwap(old, failures) {
			return
		}
	}
}

// end ends a request. If the client, or HealthCheck, did not return, it panicked, which is a failure.
func (m *lbMember) end(returned *bool) {
	m.running.Add(-1)
	if !*returned {
		m.failed(time.Now())
	}
}

// penalty returns what is left of the penalty. Without one it is cheap.
func (m *lbMember) penalty() float64 {
	f := m.failures.Load()
	if f == nil {
		return 0
	}
	left := f.left(time.Now())
	if left < minLBPenalty {
		m.failures.CompareAndSwap(f, nil)
		return 0
	}
	return left
}

func (f *lbFailures) left(now time.Time) float64 {
	return f.penalty * math.Exp2(-float64(now.Sub(f.at))/float64(lbHalfLife))
}

// choose returns the member that gets the next request, and counts that request. Without members, it returns nil.
func (lb *LBClient) choose() *lbMember {
	members := lb.all()
	lb.turn.Lock()
	defer lb.turn.Unlock()
	var lowest float64
	if lb.Strategy == LBLeastLoaded {
		lowest = weighLBLoads(members)
	}
	m := takeLBTurn(members, lowest)
	if m != nil {
		m.running.Add(1)
	}
	return m
}

// weighLBLoads sets the load of each member, and returns the lowest. A penalty counts as
// that many requests that never end.
func weighLBLoads(members []*lbMember) float64 {
	lowest := math.Inf(1)
	for _, m := range members {
		// A request that has just been given away may not be pending yet.
		pending := max(int64(m.client.PendingRequests()), m.running.Load())
		m.load = float64(pending)/m.weight + m.penalty()
		lowest = min(lowest, m.load)
	}
	return lowest
}

// takeLBTurn chooses among the members with this load. Each of them gets its share of one request as credit. The member
// with the most credit is chosen, and pays one request. This mixes the members as evenly as possible.
func takeLBTurn(members []*lbMember, load float64) (richest *lbMember) {
	total := 0.0
	for _, m := range members {
		if m.share = 0; m.load == load {
			m.share = m.weight / (1 + m.penalty())
		}
		total += m.share
	}
	for _, m := range members {
		if m.share == 0 {
			continue
		}
		if m.credit += m.share / total; richest == nil || m.credit > richest.credit {
			richest = m
		}
	}
	if richest != nil {
		richest.credit--
	}
	return richest
}
