package gallop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultLBClientTimeout is the timeout of LBClient.Do if LBClient.Timeout is not set.
const DefaultLBClientTimeout = time.Second

// BalancingClient is what an LBClient spreads requests over: HostClient, PipelineClient
// and others. LBClient.DoContext calls DoContext of those that are also a [Doer].
type BalancingClient interface {
	// DoDeadline performs req until the deadline. The zero time means no deadline.
	DoDeadline(req *Request, resp *Response, deadline time.Time) error
	// PendingRequests returns how many requests are being performed. It is called for
	// every client and request, and should be fast.
	PendingRequests() int
}

// LBStrategy is how an LBClient chooses a client.
type LBStrategy int

const (
	// LBLeastLoaded chooses the client with the fewest pending requests in proportion
	// to its weight; equals take turns, as with LBRoundRobin.
	LBLeastLoaded LBStrategy = iota

	// LBRoundRobin has the clients take turns in proportion to their weights,
	// evenly mixed.
	LBRoundRobin
)

// LBClient spreads requests over several clients, and keeps them from those that fail.
//
// Each request that fails is a penalty for its client, and so is each that panics. With LBLeastLoaded it counts like
// so many requests that never end: 4 for the first, 256 at most. With LBRoundRobin it
// divides the client's share by one more than that. It is forgotten slowly, half of it
// every second, so that a client comes back bit by bit, after ten seconds at the latest;
// and if all clients are broken, all are tried alike. No request is sent a second time.
//
// The zero value has no clients. An LBClient must not be copied, its fields not be changed
// after the first call, and its methods may be called by several goroutines at once.
type LBClient struct {
	_ noCopy

	// Clients are those to begin with.
	Clients []BalancingClient

	// HealthCheck is called after each request and reports whether the client worked. By default it
	// worked if err is nil. req.Context() is the context of the call.
	//
	// HealthCheck is not called when the caller of DoContext has cancelled the request.
	HealthCheck func(req *Request, resp *Response, err error) bool

	// Timeout is that of Do, and of DoContext with a context that has no
	// deadline if the client knows no contexts. DefaultLBClientTimeout if it is not positive.
	Timeout time.Duration

	// Strategy is how to choose a client, LBLeastLoaded by default.
	Strategy LBStrategy

	// Weight returns the weight of a client: one of 2 gets twice as many requests as one
	// of 1. It is called once for a client. Without it, or if it is less than 1, the weight is 1.
	Weight func(c BalancingClient) int

	change  sync.Mutex // held to replace members
	members atomic.Pointer[[]*lbMember]
	turn    sync.Mutex // held to choose one
}

// Do performs req within Timeout by one of the clients.
func (lb *LBClient) Do(req *Request, resp *Response) error {
	return lb.DoTimeout(req, resp, lb.timeout())
}

// DoTimeout performs req within timeout by one of the clients.
func (lb *LBClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return lb.DoDeadline(req, resp, time.Now().Add(timeout))
}

// DoDeadline performs req until the deadline by one of the clients. The zero time means no deadline. The error is
// ErrNoAvailableClients if there are none. If the deadline has passed already, the error is ErrTimeout and no
// client is called.
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

// DoContext performs req by one of the clients until ctx is done. A client without a
// DoContext is asked to be done by the deadline of ctx, or in Timeout if that has none.
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

// PendingRequests returns how many requests are being performed through lb, so that it
// can be balanced over as well.
func (lb *LBClient) PendingRequests() int {
	n := 0
	for _, m := range lb.all() {
		n += int(m.running.Load())
	}
	return n
}

// AddClient adds a client and returns how many there are.
func (lb *LBClient) AddClient(c BalancingClient) int {
	lb.all()
	lb.change.Lock()
	defer lb.change.Unlock()
	more := append(slices.Clip(*lb.members.Load()), lb.newMember(c))
	lb.members.Store(&more)
	return len(more)
}

// RemoveClients removes the clients for which rc returns true and returns how many are
// left. Requests that they are performing are not disturbed. rc must not call methods of lb
// that change its clients.
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

// all returns the members, made of Clients the first time. What it returns does
// not change.
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
