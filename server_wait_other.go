//go:build !unix || aix

package gallop

import "net"

// rawWait cannot wait without a buffer on this system.
type rawWait struct{}

func (w *rawWait) init(net.Conn)            {}
func (w *rawWait) ok() bool                 { return false }
func (w *rawWait) read(*input) (int, error) { return 0, nil }
