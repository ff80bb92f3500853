package poll

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// The model runs the code of this package: lead, steal, ready, Park, Kick, Close, Finish and Push. Its threads pause
// before each system call that matters, after each write and wait, at each lock, and before each call of a method
// listed above. Between two pauses, a thread makes at most one change that other threads can see, or several that
// commute with everything that other threads do. For example, Push enters the gate uses and then sets want; other
// threads change the gate only when they end the connection, which leaves want alone.
//
// The model's own part is the owner of the connections. It collects bytes that goroutines append, and pushes them.

// pushRules are the operations in which a test plants mistakes.
type pushRules struct {
	push    func(m *pushModel, c *Conn, p []byte) (int, error)
	park    func(c *Conn) bool
	sameGen bool // a reused descriptor gets the number of the earlier connection
}

var goodRules = pushRules{
	push: func(_ *pushModel, c *Conn, p []byte) (int, error) { return c.Push(p) },
	park: func(c *Conn) bool { return c.Park(0) },
}

// pushScene is what happens in a model.
type pushScene struct {
	name    string
	window  int      // bytes that the client's side holds
	writers []string // what each writer sends, in pieces that spaces separate
	kick    bool     // a goroutine kicks the connection
	steal   int      // how often the watchdog takes the baton
	close   bool     // a goroutine closes the connection
	hangUp  bool     // the client hangs up
	ask     bool     // the client sends a byte, too
	reuse   bool     // after the connection, another one uses the descriptor
}

// link is a connection of the model and what its owner knows.
type link struct {
	id       int
	client   *wiretest.Conn
	server   *wiretest.Conn
	c        *Conn
	holder   *thread // holds the lock that guards the following fields
	unsent   []byte
	appended []byte // everything that was appended
	got      []byte // everything that the client has read
	failed   bool   // a push failed
	serving  int
	finished bool
	ended    bool // somebody closes it, or the client hangs up
	full     bool // the last write did not fit
}

type pushModel struct {
	scene   *pushScene
	rules   *pushRules
	k       *wiretest.Kernel
	at      *wiretest.KernelListener
	g       *Group
	l       *Loop
	workers []*Worker
	all     []*thread
	now     *thread
	links   []*link
	fetched []syscall.EpollEvent // what the loop is about to get
	fault   string
}

// pushKernel makes the running thread pause at system calls.
type pushKernel struct {
	*wiretest.Kernel
	m *pushModel
}

func (k pushKernel) EpollWait(ep int, events []syscall.EpollEvent, _ time.Duration) int {
	k.m.pause("epoll_wait", func() bool { return len(k.Pending(ep)) > 0 })
	n := k.Kernel.EpollWait(ep, events, 0)
	if n > 0 {
		k.m.fetched = events[:n]
		k.m.pause("take events", nil)
		k.m.fetched = nil
	}
	return n
}

func (k pushKernel) EpollCtl(ep, op, fd int, event *syscall.EpollEvent) error {
	k.m.pause("epoll_ctl", nil)
	return k.Kernel.EpollCtl(ep, op, fd, event)
}

func (k pushKernel) Read(fd int, p []byte) (int, error) {
	k.m.pause("read", nil)
	return k.Kernel.Read(fd, p)
}

func (k pushKernel) Write(fd int, p []byte) (int, error) {
	k.m.pause("write", nil)
	n, err := k.Kernel.Write(fd, p)
	if k.m.now.held = 1 + n; err != nil && err != syscall.EAGAIN {
		k.m.now.held = -1
	} else {
		for _, ln := range k.m.links {
			if int(ln.c.fd) == fd && !ln.finished {
				ln.full = n < len(p)
			}
		}
	}
	k.m.pause("see what was written", nil)
	return n, err
}

func (k pushKernel) Close(fd int) error {
	k.m.pause("close", nil)
	return k.Kernel.Close(fd)
}

func newPushModel(scene *pushScene, rules *pushRules) *pushModel {
	m := &pushModel{scene: scene, rules: rules, k: wiretest.NewKernel()}
	m.at = m.k.Listen()
	m.g = &Group{h: m, kernel: pushKernel{m.k, m}, fixed: true, reaper: true, closed: make(chan struct{})}
	m.g.users.Store(1)
	m.l, _ = newLoop(m.g)
	m.l.spare = pushAhead
	m.g.loops.Store(&[]*Loop{m.l})
	m.g.procs.Store(1)
	for range 2 + scene.steal {
		m.workers = append(m.workers, &Worker{g: m.g, tasks: make(chan task, 1)})
	}
	m.g.idle = slices.Clone(m.workers)
	m.now = &thread{ended: true} // nothing pauses yet
	m.connect(m.workers[0]).c.Park(0)
	m.now = nil
	m.g.start(task{lead: m.l})
	for i, w := range m.workers {
		m.begin(fmt.Sprint("worker ", i), func() { m.work(w) })
	}
	m.begin("client", func() { m.read(m.links[0]) })
	for i, text := range scene.writers {
		m.begin(fmt.Sprint("writer ", i), func() {
			for _, piece := range strings.Fields(text) {
				m.send(m.links[0], piece, i > 0)
			}
		})
	}
	if scene.kick {
		m.begin("kicker", func() { m.pause("kick", nil); kickBeside(m.links[0].c) })
	}
	if scene.steal > 0 {
		m.begin("watchdog", m.watch)
	}
	if scene.close {
		m.begin("closer", func() { m.pause("close", nil); m.links[0].ended = true; _ = m.links[0].c.Close() })
	}
	if scene.hangUp {
		m.begin("client 2", func() { m.pause("hang up", nil); m.links[0].ended = true; _ = m.links[0].client.Close() })
	}
	if scene.ask {
		m.begin("client 3", func() { m.pause("write", nil); _, _ = m.links[0].client.Write([]byte("?")) })
	}
	if scene.reuse {
		m.begin("successor", m.succeed)
	}
	return m
}

// pushAhead is the buffer of all models, which do not use it.
var pushAhead = &ahead{reads: make([]early, 0, mostReads), buf: make([]byte, mostReads*readRoom)}

// begin starts a thread, which runs until its first pause.
func (m *pushModel) begin(name string, body func()) {
	t, before := newThread(name, body), m.now
	m.all = append(m.all, t)
	m.now = t
	t.step()
	m.now = before
}

// kickBeside is Kick, but a worker off the loop serves c, beside the loop.
func kickBeside(c *Conn) {
	if c.claim(readable) {
		c.HandOver()
	}
}

func (m *pushModel) pause(at string, able func() bool) { m.now.pause(at, able) }

// connect accepts a connection.
func (m *pushModel) connect(w *Worker) *link {
	client, server := wiretest.Pipe()
	client.SetWindow(m.scene.window)
	m.at.Connect(server)
	_ = m.at.Control(func(fd uintptr) {
		fd2, _, _ := m.k.Accept(int(fd))
		ln := &link{id: len(m.links), client: client, server: server, c: &Conn{}}
		ln.c.Init(fd2, netip.AddrPort{})
		ln.c.Data = ln
		if m.links = append(m.links, ln); m.rules.sameGen {
			m.g.gens.Store(0)
		}
		_ = m.g.Add(w, ln.c, 0)
	})
	return m.links[len(m.links)-1]
}

// work is Worker.work with a pause instead of waiting for tasks.
func (m *pushModel) work(w *Worker) {
	for {
		m.pause("wait for a task", func() bool { return len(w.tasks) > 0 })
		if t := <-w.tasks; t.lead != nil {
			w.lead(t.lead)
		} else {
			w.runTask(t)
		}
		m.g.away.Add(-1)
		m.g.idle = append(m.g.idle, w)
	}
}

// watch takes the baton from its holder.
func (m *pushModel) watch() {
	for range m.scene.steal {
		m.pause("take the baton", func() bool { return m.l.baton.Load()&1 == 1 })
		m.l.overtake(m.l.baton.Load())
	}
}

// read is what the client does.
func (m *pushModel) read(ln *link) {
	for {
		m.pause("read", func() bool { return ln.client.Stale() })
		var p [8]byte
		n, err := ln.client.TryRead(p[:])
		ln.got = append(ln.got, p[:n]...)
		ln.full = ln.full && n == 0
		if !strings.HasPrefix(string(ln.appended), string(ln.got)) {
			m.fault = fmt.Sprintf("connection %d: the client got %q of %q", ln.id, ln.got, ln.appended)
		}
		if n == 0 && err != syscall.EAGAIN {
			return
		}
	}
}

// send is what a writer does. A lazy one does not push if earlier bytes were left: then they will be pushed together.
func (m *pushModel) send(ln *link, text string, lazy bool) {
	m.lock(ln)
	defer m.unlock(ln)
	if ln.failed {
		return
	}
	left := len(ln.unsent) > 0
	ln.unsent = append(ln.unsent, text...)
	if ln.appended = append(ln.appended, text...); !left || !lazy {
		m.push(ln)
	}
}

// push sends what the owner has collected. The caller holds the lock.
func (m *pushModel) push(ln *link) {
	if len(ln.unsent) == 0 {
		return
	}
	n, err := m.rules.push(m, ln.c, ln.unsent)
	ln.unsent = ln.unsent[n:]
	if err != nil {
		ln.failed, ln.unsent = true, nil
	}
}

func (m *pushModel) lock(ln *link) {
	m.pause("lock", func() bool { return ln.holder == nil })
	ln.holder = m.now
}

func (m *pushModel) unlock(ln *link) {
	if ln.holder == m.now {
		ln.holder, m.now.held = nil, 0
	}
}

// succeed waits for the end of the first connection and then uses another one with the same descriptor.
func (m *pushModel) succeed() {
	m.pause("accept", func() bool { return m.links[0].finished && m.k.Open() == 0 })
	ln := m.connect(&Worker{g: m.g})
	m.begin("second client", func() { m.read(ln) })
	m.Serve(nil, ln.c)
	m.send(ln, "xy", false)
}

// Serve reads what has come, pushes what is left, and parks the connection.
func (m *pushModel) Serve(_ *Worker, c *Conn) {
	ln := c.Data.(*link)
	for {
		if ln.serving++; ln.serving > 1 || ln.finished {
			m.fault = fmt.Sprintf("connection %d is served twice", ln.id)
		}
		var p [4]byte
		n, err := c.TryRead(p[:])
		for n > 0 {
			n, err = c.TryRead(p[:])
		}
		if err == syscall.EAGAIN {
			m.lock(ln)
			m.push(ln)
			m.unlock(ln)
		}
		if err != syscall.EAGAIN || ln.failed {
			ln.serving, ln.finished = 0, true
			c.Finish()
			return
		}
		ln.serving--
		m.pause("park", nil)
		if m.rules.park(c) {
			return
		}
	}
}

func (m *pushModel) Accept(*Worker, *Listener, int, netip.AddrPort) *Conn { return nil }
func (m *pushModel) Begin(*Worker, *Conn)                                 {}
func (m *pushModel) Run(*Worker, any)                                     {}
func (m *pushModel) Expire(*Worker, *Conn)                                {}
func (m *pushModel) Sent(*Conn) bool                                      { return true }
func (m *pushModel) Unsent(*Worker, *Conn, []byte)                        {}
func (m *pushModel) Rest(*Worker)                                         {}
func (m *pushModel) Overdue(uint32)                                       {}
func (m *pushModel) Failed(*Listener, time.Duration, error)               {}

// threads implements world.
func (m *pushModel) threads() []*thread { return m.all }

// choose implements world.
func (m *pushModel) choose(t *thread) { m.now = t }

// state implements world.
func (m *pushModel) state(b []byte) []byte {
	for _, ln := range m.links {
		c, ready := ln.c, ln.server.Ready()
		b = append(b, flags(ready.Read, ready.Write, ready.Ended, ready.Broken))
		b = append(b, '\n', byte(c.state.Load()), byte(c.uses.n.Load()), byte(c.uses.n.Load()>>24), byte(len(ln.unsent)), byte(len(ln.got)),
			byte(ln.client.Unread()), byte(ln.server.Unread()), byte(ln.serving), flags(c.out.Load(), c.run.Load() != 0, c.run.Load() == m.l.baton.Load(),
				ln.failed, ln.finished, ln.ended, ln.full, ln.client.Stale()))
		b = append(append(b, ln.appended...), byte(slices.Index(m.all, ln.holder)))
	}
	l := m.l
	b = append(b, '\n', byte(l.baton.Load()&1), byte(slices.Index(m.workers, l.leader.Load())), byte(l.again.len()))
	for _, fd := range m.k.Pending(l.ep) {
		b = append(b, byte(fd))
	}
	for _, event := range append(slices.Clone(m.fetched), l.events[l.next:l.n]...) {
		b = append(b, '\n', byte(event.Events), byte(event.Events>>8), byte(event.Fd), byte(event.Pad))
	}
	for _, w := range m.workers {
		b = append(b, '\n', byte(slices.Index(m.g.idle, w)), flags(w.loop != nil, w.Leads()))
		if w.ahead != nil {
			for _, e := range w.ahead.reads[w.ahead.served:] {
				b = append(b, byte(e.c.Data.(*link).id))
			}
		}
		if len(w.tasks) > 0 {
			t := <-w.tasks
			b = append(b, flags(t.lead != nil))
			if handed, ok := t.data.(handed); ok {
				b = append(b, byte(handed.c.Data.(*link).id))
			}
			w.tasks <- t
		}
	}
	return b
}

// flags packs up to eight facts.
func flags(facts ...bool) (b byte) {
	for i, is := range facts {
		if is {
			b |= 1 << i
		}
	}
	return b
}

// wrong implements world.
func (m *pushModel) wrong(quiet bool) string {
	if m.fault != "" {
		return m.fault
	}
	if misuse := m.k.Misuse(); len(misuse) > 0 {
		return misuse[0]
	}
	for _, ln := range m.links {
		switch s := ln.c.state.Load(); {
		case s&(hungUp|broken) != 0 && !ln.ended:
			return fmt.Sprintf("connection %d seems to be hung up", ln.id)
		case ln.ended || !quiet:
		case ln.failed || ln.finished:
			return fmt.Sprintf("connection %d is over", ln.id)
		case ln.serving > 0 || s&busy != 0:
			return fmt.Sprintf("connection %d is not parked", ln.id)
		case string(ln.got) != string(ln.appended):
			return fmt.Sprintf("connection %d: the client got only %q of %q", ln.id, ln.got, ln.appended)
		}
	}
	for _, t := range m.all {
		if quiet && !t.ended && (strings.HasPrefix(t.name, "writer") || t.at == "lock") {
			return t.name + " is stuck"
		}
	}
	return ""
}

// Several goroutines write to a connection, whether a worker serves it or it is parked. The client gets each byte once
// and in order, and nothing stays unsent while there is room. All orders of steps are tried.
func TestPushInAllOrders(t *testing.T) {
	scenes := pushScenes
	if wiretest.Long() {
		scenes = slices.Concat(scenes, longScenes)
	}
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			begun := time.Now()
			e := &explorer{most: 1_000_000}
			trace, wrong := e.explore(func() world { return newPushModel(&scene, &goodRules) })
			if wrong != "" {
				t.Errorf("%s, after: %s", wrong, short(trace))
			}
			t.Logf("%d states, %d runs, %d steps, %v", e.states, e.runs, e.steps, time.Since(begun).Round(time.Millisecond))
		})
	}
}

// The scenes of pushScenes take a few seconds together; those of longScenes take minutes.
var (
	pushScenes = []pushScene{
		kicked,
		{name: "kicked, more room", window: 2, writers: []string{"abc", "de"}, kick: true},
		{name: "watchdog", window: 1, writers: []string{"ab", "c"}, steal: 1},
		{name: "bytes arrive", window: 1, writers: []string{"ab", "c"}, ask: true},
		closedInBetween,
		reused,
	}
	kicked          = pushScene{name: "kicked", window: 1, writers: []string{"ab", "c"}, kick: true}
	closedInBetween = pushScene{name: "closed", window: 1, writers: []string{"ab", "c"}, close: true}
	reused          = pushScene{name: "hung up, then the descriptor is reused", window: 1, writers: []string{"ab", "c"}, hangUp: true, reuse: true}

	longScenes = []pushScene{
		{name: "all while it is open", window: 1, writers: []string{"ab c", "d"}, kick: true, steal: 1, ask: true},
		{name: "all and closed", window: 1, writers: []string{"ab", "c"}, kick: true, ask: true, close: true, reuse: true},
		{name: "all and hung up", window: 1, writers: []string{"ab", "c"}, kick: true, steal: 1, hangUp: true, reuse: true},
	}
)

// pushParts are the parts of Push and a switch for each, for tests that plant mistakes.
type pushParts struct {
	fine      bool // no mistake; the thread pauses before each change of the state
	useless   bool // the call is not counted
	late      bool // want is set after the try
	stale     bool // room that was noted before the try still counts
	forgets   bool // room that was noted during the try does not count
	unwatched bool // epoll does not report room
	greedy    bool // want stays when nothing is left
	content   bool // want goes although bytes are left
}

// push does the same as Conn.Push, but for the mistakes.
func (parts pushParts) push(m *pushModel, c *Conn, p []byte) (n int, err error) {
	if !parts.useless {
		if !c.use() {
			return 0, syscall.EPIPE
		}
		defer c.done()
	}
	if !parts.late {
		parts.pause(m, "set want")
		parts.want(c)
	}
	if n, err = c.TryWrite(p); err == nil && n < len(p) {
		if parts.late {
			parts.want(c)
		}
		if parts.forgets {
			c.state.And(^uint32(writable))
		}
		if !parts.unwatched {
			err = c.wantWritable()
		}
	}
	if parts.content || (err != nil || n == len(p)) && !parts.greedy {
		parts.pause(m, "clear want")
		c.state.And(^uint32(want))
	}
	parts.pause(m, "leave")
	return n, err
}

func (parts pushParts) pause(m *pushModel, at string) {
	if parts.fine {
		m.pause(at, nil)
	}
}

func (parts pushParts) want(c *Conn) {
	if parts.stale {
		c.state.Or(want)
	} else {
		c.wantRoom()
	}
}

// Each of these mistakes violates a rule of the model.
func TestPushModelNoticesMistakes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules pushRules
		scene pushScene
		wrong string
	}{
		{"none", pushRules{push: pushParts{fine: true}.push, park: goodRules.park}, kicked, ""},
		{"none", pushRules{push: pushParts{fine: true}.push, park: goodRules.park}, closedInBetween, ""},
		{"want is set after the try", pushRules{push: pushParts{late: true}.push, park: goodRules.park}, kicked, "got only"},
		{"want goes although bytes are left", pushRules{push: pushParts{content: true}.push, park: goodRules.park}, kicked, "got only"},
		{"want stays although nothing is left", pushRules{push: pushParts{greedy: true}.push, park: goodRules.park}, kicked, "circles"},
		{"room before the try counts", pushRules{push: pushParts{stale: true}.push, park: goodRules.park}, kicked, "circles"},
		{"room during the try does not count", pushRules{push: pushParts{forgets: true}.push, park: goodRules.park}, kicked, "got only"},
		{"epoll does not watch for room", pushRules{push: pushParts{unwatched: true}.push, park: goodRules.park}, kicked, "got only"},
		{"Push does not call use", pushRules{push: pushParts{useless: true}.push, park: goodRules.park}, reused, "not open"},
		{"Park ignores want", pushRules{push: goodRules.push, park: parkAnyway}, kicked, "got only"},
		{"an event of a reused descriptor is served", pushRules{push: goodRules.push, park: goodRules.park, sameGen: true}, reused, "hung up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &explorer{most: 1_000_000}
			trace, wrong := e.explore(func() world { return newPushModel(&tt.scene, &tt.rules) })
			if tt.wrong == "" && wrong != "" || !strings.Contains(wrong, tt.wrong) {
				t.Errorf("%q, want %q, after: %s", wrong, tt.wrong, short(trace))
			}
			t.Logf("run %d: %s", e.runs, wrong)
		})
	}
}

// parkAnyway is a Park that does not look at want.
func parkAnyway(c *Conn) bool {
	for {
		s := c.state.Load()
		if s&readable != 0 {
			c.state.And(^uint32(readable))
			return false
		}
		if c.state.CompareAndSwap(s, s&^busy) {
			return true
		}
	}
}
