// Package prefork has the names of github.com/valyala/fasthttp/prefork for gallop's package of the same name.
package prefork

import (
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/prefork"
)

// Prefork serves with several processes.
type Prefork = prefork.Prefork

// Logger gets what happens to children.
type Logger = prefork.Logger

// Errors.
var (
	ErrOverRecovery              = prefork.ErrOverRecovery
	ErrOnlyReuseportOnWindows    = prefork.ErrOnlyReuseportOnWindows
	ErrCommandProducerNilCmd     = prefork.ErrCommandProducerNilCmd
	ErrCommandProducerNotStarted = prefork.ErrCommandProducerNotStarted
)

// IsChild reports whether this process serves.
func IsChild() bool { return prefork.IsChild() }

// New returns what serves with several processes as s serves with one.
func New(s *gallop.Server) *Prefork { return prefork.New(s) }
